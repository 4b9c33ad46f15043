"""Deciding what fits, and in which form.

Pinned candidates come first, then the most valuable. Each tier fills its share;
what is left over goes to the best of the rest, whatever their tier. A candidate
that does not fit in full is tried in shorter forms, and what does not fit in any
is represented once by its stage's summary.

Costs charge every item a label line of its own. Items that share one cost less
than that, so a further round spends what the rendered text turned out to leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from waypost.context.budget import flow
from waypost.context.candidates import Candidate, Chosen, StandIn, Version
from waypost.context.render import Renderer
from waypost.context.sections import Section
from waypost.model.context import Form, TierSplit
from waypost.model.vocabulary import Origin, Tier
from waypost.tokens import count_tokens

_ROUNDS = 4


@dataclass
class Selection:
    """What was chosen so far and what it costs at most."""

    renderer: Renderer
    budget: int
    chosen: dict[str, Chosen] = field(default_factory=dict)
    spent: int = 0
    by_tier: dict[Tier, int] = field(default_factory=lambda: dict.fromkeys(Tier, 0))
    _sections: set[Section] = field(default_factory=set)
    _texts: set[str] = field(default_factory=set)

    def price(self, candidate: Candidate, version: Version) -> int:
        """The most this can add: item, label, and what opens a new section or the text."""
        price = self.renderer.cost(candidate, version.text)
        if candidate.section not in self._sections:
            price += self.renderer.frame_cost(candidate.section)
        if not self.chosen:
            price += self.renderer.count(self.renderer.preamble)
        return price

    def add(self, candidate: Candidate, version: Version) -> None:
        price = self.price(candidate, version)
        self.chosen[candidate.entry_id] = Chosen(candidate, version)
        self.spent += price
        self.by_tier[candidate.tier] += price
        self._sections.add(candidate.section)
        self._texts.add(version.text)

    def repeats(self, candidate: Candidate) -> bool:
        text = candidate.versions[0].text
        parent = self.chosen.get(candidate.parent_id or "")
        return text in self._texts or (parent is not None and text in parent.version.text)

    def settle(self) -> None:
        """Replace the sum of upper bounds by the tokens of the blocks as they stand."""
        self.spent = sum(map(self.renderer.count, self.renderer.blocks(self.chosen.values())))
        bodies = dict.fromkeys(Tier, 0)
        for one in self.chosen.values():
            bodies[one.candidate.tier] += self.renderer.count(self.renderer.body(one.version.text))
        total = sum(bodies.values()) or 1
        self.by_tier = {tier: body * self.spent // total for tier, body in bodies.items()}

    def drop_last(self) -> None:
        """Take out the least valuable entry that is not pinned, else the last pinned one."""
        worst = min(
            self.chosen.values(),
            key=lambda one: (one.candidate.pinned, one.candidate.value, one.candidate.entry_id),
        )
        del self.chosen[worst.candidate.entry_id]

    def exact(self) -> int:
        """The tokens of the text itself: the only figure the budget is held to."""
        return count_tokens(self.renderer.render(self.chosen.values()), self.renderer.encoding)


def choose(
    candidates: Sequence[Candidate],
    renderer: Renderer,
    *,
    budget: int,
    split: TierSplit,
    largest_item_share: float,
) -> Selection:
    """Pick what fits into ``budget`` tokens of rendered text; the result is never over."""
    selection = Selection(renderer, budget)
    ranked = sorted(candidates, key=_rank)
    largest = int(budget * largest_item_share)
    grants = flow(budget, split, _needs(ranked, renderer, budget))
    waiting = _fill_in_rounds(selection, ranked, largest, grants)
    waiting = _fill_in_rounds(selection, waiting, largest, None)
    _represent(selection, waiting)
    while selection.exact() > budget:
        selection.drop_last()
    return selection


def _rank(candidate: Candidate) -> tuple[bool, float, str]:
    return (not candidate.pinned, -round(candidate.value, 9), candidate.entry_id)


def _needs(ranked: Iterable[Candidate], renderer: Renderer, budget: int) -> dict[Tier, int]:
    """Tokens each tier could use; counting stops once a tier could use the whole budget."""
    needs = dict.fromkeys(Tier, 0)
    framed: set[tuple[Tier, Section]] = set()
    for candidate in ranked:
        tier, section = candidate.tier, candidate.section
        if needs[tier] >= budget:
            continue
        needs[tier] += renderer.cost(candidate, candidate.versions[0].text)
        if (tier, section) not in framed:
            framed.add((tier, section))
            needs[tier] += renderer.frame_cost(section)
    return needs


def _fill_in_rounds(
    selection: Selection,
    waiting: list[Candidate],
    largest: int,
    grants: dict[Tier, int] | None,
) -> list[Candidate]:
    for _ in range(_ROUNDS):
        before = len(selection.chosen)
        waiting = _fill(selection, waiting, largest, grants)
        selection.settle()
        if len(selection.chosen) == before or not waiting:
            break
    return waiting


def _fill(
    selection: Selection,
    ranked: Iterable[Candidate],
    largest: int,
    grants: dict[Tier, int] | None,
) -> list[Candidate]:
    """Add what fits, best first; return what did not."""
    waiting = []
    for candidate in ranked:
        if selection.repeats(candidate):
            continue
        room = selection.budget - selection.spent
        if grants is not None:
            room = min(room, grants[candidate.tier] - selection.by_tier[candidate.tier])
        version = _best_version(selection, candidate, room, largest)
        if version is None:
            waiting.append(candidate)
        else:
            selection.add(candidate, version)
    return waiting


def _best_version(
    selection: Selection, candidate: Candidate, room: int, largest: int
) -> Version | None:
    """The fullest form that fits the room and leaves space for others."""
    for version in candidate.versions:
        price = selection.price(candidate, version)
        shortest = version is candidate.versions[-1]
        if price <= room and (price <= largest or candidate.pinned or shortest):
            return version
    return None


def _represent(selection: Selection, waiting: Iterable[Candidate]) -> None:
    """Let the summary of a stage stand for its memories that found no room."""
    for candidate in waiting:
        stand_in = candidate.stand_in
        if stand_in is None or stand_in.entry_id in selection.chosen:
            continue
        substitute = _substitute(candidate, stand_in)
        version = substitute.versions[0]
        if selection.price(substitute, version) <= selection.budget - selection.spent:
            selection.add(substitute, version)


def _substitute(candidate: Candidate, stand_in: StandIn) -> Candidate:
    return replace(
        candidate,
        entry_id=stand_in.entry_id,
        section=Section.PAST,
        versions=(Version(Form.STAGE_SUMMARY, stand_in.text),),
        timestamp=stand_in.timestamp,
        origin=Origin.DERIVED,
        trust=stand_in.trust,
        reason="stands for memories of its stage that did not fit",
        stand_in=None,
        why=None,
    )
