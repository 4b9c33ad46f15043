"""The core of the assembler: candidates in, a package out. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from waypost.context.budget import claims
from waypost.context.candidates import Candidate, Chosen
from waypost.context.fencing import Fence
from waypost.context.render import Renderer
from waypost.context.selection import Selection, choose
from waypost.model.context import ContextEntry, ContextPackage, ContextProfile, TierSplit, TierUse
from waypost.model.vocabulary import Tier
from waypost.tokens import count_tokens


@dataclass(frozen=True)
class Material:
    """Everything a context may be made of, and how large it was in full."""

    candidates: Sequence[Candidate]
    source_tokens: int = 0
    degraded: bool = False
    reasons: tuple[str, ...] = ()


def assemble(
    material: Material,
    *,
    agent_id: str,
    max_tokens: int,
    profile: ContextProfile,
    split: TierSplit | None = None,
) -> ContextPackage:
    """Make the context. The same material gives the same text, byte for byte."""
    shares = split or profile.split
    renderer = Renderer(Fence(agent_id), profile.encoding)
    selection = choose(
        material.candidates,
        renderer,
        budget=max_tokens,
        split=shares,
        largest_item_share=profile.largest_item_share,
    )
    placed = sorted(selection.chosen.values(), key=lambda one: one.place)
    text = renderer.render(placed)
    tokens = count_tokens(text, profile.encoding)
    return ContextPackage(
        text=text,
        token_count=tokens,
        max_tokens=max_tokens,
        items=tuple(_entry(one, renderer) for one in placed),
        tiers=_tier_use(selection, max_tokens, shares),
        compression_ratio=_ratio(material.source_tokens, tokens),
        source_tokens=material.source_tokens,
        left_out=_left_out(material, selection),
        degraded=material.degraded,
        reasons=material.reasons,
        split=shares,
    )


def _entry(one: Chosen, renderer: Renderer) -> ContextEntry:
    candidate = one.candidate
    return ContextEntry(
        entry_id=candidate.entry_id,
        section=candidate.section.value,
        tier=candidate.tier,
        form=one.version.form,
        tokens=renderer.count(renderer.body(one.version.text)),
        value=candidate.value,
        reason=candidate.reason,
        origin=candidate.origin,
        trust=candidate.trust,
        timestamp=candidate.timestamp,
        why=candidate.why,
    )


def _tier_use(selection: Selection, max_tokens: int, split: TierSplit) -> tuple[TierUse, ...]:
    granted = claims(max_tokens, split)
    return tuple(_use_of(tier, granted[tier], selection) for tier in Tier)


def _use_of(tier: Tier, granted: int, selection: Selection) -> TierUse:
    renderer = selection.renderer
    members = [one for one in selection.chosen.values() if one.candidate.tier is tier]
    used = sum(renderer.count(renderer.body(one.version.text)) for one in members)
    return TierUse(tier=tier, granted=granted, used=used, entries=len(members))


def _ratio(source_tokens: int, tokens: int) -> float:
    return round(source_tokens / tokens, 4) if tokens and source_tokens else 1.0


def _left_out(material: Material, selection: Selection) -> int:
    return sum(one.entry_id not in selection.chosen for one in material.candidates)
