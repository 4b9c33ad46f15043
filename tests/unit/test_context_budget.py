"""Tier budgets: claims add up, and what is unused flows on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from waypost.context.budget import claims, flow
from waypost.model.context import TierSplit
from waypost.model.vocabulary import Tier

shares = st.tuples(st.integers(0, 100), st.integers(0, 100), st.integers(1, 100)).map(
    lambda parts: (
        TierSplit(
            **{
                "task": parts[0] / sum(parts),
                "project": parts[1] / sum(parts),
                "global": 1 - parts[0] / sum(parts) - parts[1] / sum(parts),
            }
        )
        if 1 - parts[0] / sum(parts) - parts[1] / sum(parts) >= 0
        else TierSplit()
    )
)
needs = st.fixed_dictionaries({tier: st.integers(0, 5000) for tier in Tier})


def test_the_default_is_forty_forty_twenty() -> None:
    assert claims(2000, TierSplit()) == {Tier.TASK: 800, Tier.PROJECT: 800, Tier.GLOBAL: 400}


def test_shares_that_do_not_add_up_to_one_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"add up to 1\.4, not 1"):
        TierSplit(task=0.8)


def test_what_a_tier_leaves_unused_flows_to_the_others() -> None:
    wanted = {Tier.TASK: 100, Tier.PROJECT: 5000, Tier.GLOBAL: 300}
    assert flow(1000, TierSplit(), wanted) == {
        Tier.TASK: 100,
        Tier.PROJECT: 600,
        Tier.GLOBAL: 300,
    }


@given(total=st.integers(0, 4000), split=shares)
def test_claims_spend_the_whole_budget_and_no_more(total: int, split: TierSplit) -> None:
    assert sum(claims(total, split).values()) == total


@given(total=st.integers(0, 4000), split=shares, wanted=needs)
def test_flow_wastes_nothing_and_starves_no_tier(
    total: int, split: TierSplit, wanted: dict[Tier, int]
) -> None:
    granted = flow(total, split, wanted)
    assert sum(granted.values()) == min(total, sum(wanted.values()))
    for tier, claim in claims(total, split).items():
        assert min(claim, wanted[tier]) <= granted[tier] <= wanted[tier]
