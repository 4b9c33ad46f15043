"""Learning how to divide the budget between tiers, from what was of use.

Opt-in (``ContextProfile.learn_split``). The caller reports which entries of a context
it used; of each tier the shown and the used tokens are added up, older reports fading.
A tier whose text is used more than average gets more than its share in the profile, but
never more than ``LEEWAY`` away from it, and none falls below ``LEAST``; a tier that was
not shown is left alone. A few reports move little: half of the way takes ``HALF_WAY``.
Pure but for ``report_use``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection

from waypost.exceptions import InvalidInput
from waypost.model.context import (
    ContextEntry,
    ContextProfile,
    LearnedSplit,
    TierRecord,
    TierSplit,
    UseRecord,
)
from waypost.model.vocabulary import Tier
from waypost.store import profiles

LEEWAY = 0.2
LEAST = 0.05
HALF_WAY = 10
_FADING = 0.98
_PRIOR_TOKENS = 500.0


def report_use(
    connection: Connection,
    agent_id: str,
    items: Sequence[ContextEntry],
    used: Collection[str],
    now: datetime,
) -> LearnedSplit:
    """Take one report into account, when the agent's profile says that it learns."""
    profile = profiles.read(connection, agent_id)
    record = profile.use
    if profile.context.learn_split:
        record = observe(record, items, used)
        profiles.change(connection, agent_id, {"use": record}, now)
    return learned_split(profile.context, record)


def read_split(connection: Connection, agent_id: str) -> LearnedSplit:
    profile = profiles.read(connection, agent_id)
    return learned_split(profile.context, profile.use)


def observe(record: UseRecord, items: Sequence[ContextEntry], used: Collection[str]) -> UseRecord:
    """The record with one more report; an id that was not shown is an error."""
    wanted = set(used)
    if unknown := sorted(wanted - {item.entry_id for item in items}):
        raise InvalidInput(
            f"{unknown[0]!r} was not in the context; report entry ids of its items",
            entry_ids=unknown,
        )
    tiers = {}
    for tier in Tier:
        old = record.tiers.get(tier, TierRecord())
        own = [item for item in items if item.tier is tier]
        tiers[tier] = TierRecord(
            shown=_FADING * old.shown + sum(item.tokens for item in own),
            used=_FADING * old.used + sum(i.tokens for i in own if i.entry_id in wanted),
        )
    return UseRecord(reports=record.reports + 1, tiers=tiers)


def learned_split(profile: ContextProfile, record: UseRecord) -> LearnedSplit:
    """The shares that follow from the record, with the reason in words."""
    base, rates = profile.split, _rates(record)
    split = _moved(base, rates, record.reports) if profile.learn_split else base
    return LearnedSplit(
        enabled=profile.learn_split,
        split=split,
        base=base,
        reports=record.reports,
        rates={tier: round(rate, 4) for tier, rate in rates.items()},
        explanation=_explanation(profile.learn_split, split, base, record, rates),
    )


def _rates(record: UseRecord) -> dict[Tier, float]:
    """The used part of what each tier showed; tiers that showed little lean to the average."""
    shown = sum(one.shown for one in record.tiers.values())
    average = sum(one.used for one in record.tiers.values()) / shown if shown else 0.0
    rates = {}
    for tier in Tier:
        one = record.tiers.get(tier, TierRecord())
        rates[tier] = (one.used + _PRIOR_TOKENS * average) / (one.shown + _PRIOR_TOKENS)
    return rates


def _moved(base: TierSplit, rates: dict[Tier, float], reports: int) -> TierSplit:
    weighted = {tier: base.share(tier) * rates[tier] for tier in Tier}
    total = sum(weighted.values())
    if not total:
        return base
    confidence = reports / (reports + HALF_WAY)
    wanted = {
        tier: base.share(tier) + confidence * (weighted[tier] / total - base.share(tier))
        for tier in Tier
    }
    return _within_bounds(base, wanted)


def _within_bounds(base: TierSplit, wanted: dict[Tier, float]) -> TierSplit:
    """The nearest shares that keep to the bounds and add up to one."""
    least = {tier: min(base.share(tier), max(LEAST, base.share(tier) - LEEWAY)) for tier in Tier}
    most = {tier: min(1.0, base.share(tier) + LEEWAY) for tier in Tier}
    shares = {tier: min(most[tier], max(least[tier], wanted[tier])) for tier in Tier}
    missing = 1.0 - sum(shares.values())
    limits = most if missing > 0 else least
    slack = {tier: limits[tier] - shares[tier] for tier in Tier}
    whole = sum(slack.values())
    if whole:
        shares = {tier: shares[tier] + missing * slack[tier] / whole for tier in Tier}
    return TierSplit(**{tier.value: share for tier, share in shares.items()})


def _explanation(
    enabled: bool,
    split: TierSplit,
    base: TierSplit,
    record: UseRecord,
    rates: dict[Tier, float],
) -> str:
    if not enabled:
        return "learning is off; set_profile(context={'learn_split': True}) turns it on"
    if not record.reports:
        return "nothing was reported yet, so the shares are those of the profile"
    parts = (
        f"{tier} {base.share(tier):.0%} to {split.share(tier):.0%} "
        f"({rates[tier]:.0%} of what it showed was used)"
        for tier in Tier
    )
    return f"after {record.reports} reports: {', '.join(parts)}"
