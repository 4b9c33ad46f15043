"""Dividing tokens between tiers: a claim for each, and the rest for whoever needs it."""

from __future__ import annotations

from collections.abc import Mapping

from waypost.model.context import TierSplit
from waypost.model.vocabulary import Tier


def claims(total: int, split: TierSplit) -> dict[Tier, int]:
    """The tokens each tier may claim first. They add up to ``total`` exactly."""
    exact = {tier: total * split.share(tier) for tier in Tier}
    whole = {tier: int(value) for tier, value in exact.items()}
    # The tokens lost to rounding go to the largest remainders, in the order of the tiers.
    by_remainder = sorted(Tier, key=lambda tier: whole[tier] - exact[tier])
    for tier in by_remainder[: total - sum(whole.values())]:
        whole[tier] += 1
    return whole


def flow(total: int, split: TierSplit, needs: Mapping[Tier, int]) -> dict[Tier, int]:
    """What each tier gets when what one leaves unused flows to those that need more.

    No tier gets more than it needs, none that needs more gets less than its claim,
    and the sum is the smaller of ``total`` and all needs together.
    """
    granted = {tier: min(needs.get(tier, 0), claim) for tier, claim in claims(total, split).items()}
    spare = total - sum(granted.values())
    hungry = [tier for tier in Tier if needs.get(tier, 0) > granted[tier]]
    while spare and hungry:
        for tier, share in _even_shares(spare, hungry).items():
            taken = min(share, needs[tier] - granted[tier])
            granted[tier] += taken
            spare -= taken
        hungry = [tier for tier in hungry if needs[tier] > granted[tier]]
    return granted


def _even_shares(spare: int, hungry: list[Tier]) -> dict[Tier, int]:
    share, extra = divmod(spare, len(hungry))
    return {tier: share + (place < extra) for place, tier in enumerate(hungry)}
