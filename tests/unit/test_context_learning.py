"""Learning the split: opt-in, bounded, explained."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import waypost
from waypost.context.learning import LEAST, LEEWAY, learned_split, observe
from waypost.exceptions import InvalidInput
from waypost.model.context import (
    ContextEntry,
    ContextProfile,
    Form,
    TierRecord,
    TierSplit,
    UseRecord,
)
from waypost.model.vocabulary import Origin, Tier, Trust

LEARNING = ContextProfile(learn_split=True)


def entry(tier: Tier, name: str, tokens: int = 100) -> ContextEntry:
    return ContextEntry(
        entry_id=name, section="Relevant knowledge", tier=tier, form=Form.RAW, tokens=tokens,
        value=0.5, reason="test", origin=Origin.USER, trust=Trust.HIGH,
    )  # fmt: skip


EVERY_TIER = [entry(tier, tier.value) for tier in Tier]


def after(reports: int, used: list[str]) -> UseRecord:
    record = UseRecord()
    for _ in range(reports):
        record = observe(record, EVERY_TIER, used)
    return record


def test_what_is_used_gets_more_and_what_is_not_gets_less() -> None:
    split = learned_split(LEARNING, after(50, ["project"])).split
    assert split.project == pytest.approx(0.6)
    assert split.task < 0.4
    assert split.global_ < 0.2


def test_one_report_moves_little() -> None:
    split = learned_split(LEARNING, after(1, ["project"])).split
    assert abs(split.project - 0.4) < 0.03


def test_old_habits_fade() -> None:
    record = after(200, ["project"])
    for _ in range(200):
        record = observe(record, EVERY_TIER, ["task"])
    assert learned_split(LEARNING, record).split.task > 0.5


def test_even_use_leaves_the_shares_alone() -> None:
    split = learned_split(LEARNING, after(50, ["task", "project", "global"])).split
    for tier in Tier:
        assert split.share(tier) == pytest.approx(TierSplit().share(tier))


def test_a_tier_that_was_never_shown_is_not_punished() -> None:
    record = UseRecord()
    for _ in range(50):
        record = observe(record, [entry(Tier.TASK, "a"), entry(Tier.PROJECT, "b")], ["a", "b"])
    assert learned_split(LEARNING, record).split.global_ == pytest.approx(0.2, abs=0.01)


def test_nothing_used_at_all_changes_nothing() -> None:
    assert learned_split(LEARNING, after(50, [])).split == TierSplit()


def test_without_opting_in_nothing_moves() -> None:
    learned = learned_split(ContextProfile(), after(50, ["project"]))
    assert (learned.enabled, learned.split) == (False, TierSplit())
    assert "learning is off" in learned.explanation


def test_the_explanation_names_shares_and_rates() -> None:
    text = learned_split(LEARNING, after(50, ["project"])).explanation
    assert text.startswith("after 50 reports: task 40% to ")
    assert "% of what it showed was used" in text


def test_an_entry_that_was_not_shown_cannot_be_reported() -> None:
    with pytest.raises(InvalidInput, match="'x' was not in the context"):
        observe(UseRecord(), EVERY_TIER, ["x"])


tokens = st.floats(0, 1e6)
records = st.builds(
    UseRecord,
    reports=st.integers(0, 10_000),
    tiers=st.fixed_dictionaries(
        {tier: st.builds(TierRecord, shown=tokens, used=tokens) for tier in Tier}
    ),
)


@given(record=records, seed=st.integers(0, 1000))
def test_shares_always_add_up_and_stay_within_their_bounds(record: UseRecord, seed: int) -> None:
    chance = random.Random(seed)
    parts = [chance.random() + 0.01 for _ in Tier]
    base = TierSplit(
        **{tier.value: part / sum(parts) for tier, part in zip(Tier, parts, strict=True)}
    )
    split = learned_split(ContextProfile(learn_split=True, split=base), record).split
    for tier in Tier:
        assert abs(split.share(tier) - base.share(tier)) <= LEEWAY + 1e-9
        assert split.share(tier) >= min(LEAST, base.share(tier)) - 1e-9


async def test_reports_are_kept_and_can_be_begun_anew() -> None:
    async with waypost.open(":memory:") as engine:
        memory = engine.agent("planner")
        assert not (await memory.report_context_use(EVERY_TIER, ["task"])).enabled
        assert (await memory.get_tier_split()).reports == 0
        await memory.set_profile(context=LEARNING)
        await memory.report_context_use([one.model_dump() for one in EVERY_TIER], ["task"])
        assert (await memory.get_tier_split()).reports == 1
        assert (await engine.agent("other").get_tier_split()).reports == 0
        await memory.set_profile(use={})
        assert (await memory.get_tier_split()).reports == 0
