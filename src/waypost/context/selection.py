"""Deciding what fits, and in which form.

Pinned candidates come first, then the most valuable for their length: one long text
takes the room of many short ones, so it has to be worth more than each of them. Each
tier fills its share; what is left over goes to the best of the rest, whatever their
tier. A candidate that does not fit in full is tried in shorter forms, and what does
not fit in any is represented once by the summary of its stage, or else of its task.

Costs charge every item a label line of its own. Items that share one cost less
than that, so a further round spends what the rendered text turned out to leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from waypost.context.budget import flow
from waypost.context.candidates import (
    AnyVersion,
    Candidate,
    Chosen,
    LateVersion,
    StandIn,
    Version,
)
from waypost.context.excerpt import first_lines
from waypost.context.render import Renderer
from waypost.context.sections import Section
from waypost.model.context import Form, TierSplit
from waypost.model.vocabulary import Origin, Tier
from waypost.tokens import count_tokens

_ROUNDS = 4
_SHORT = 80
"""Tokens up to which length costs a candidate nothing."""
_THRIFT = 0.4
_LEAST_ROOM = 8
_MOST_DISPLACED = 4
"""Entries that may make way for a summary that covers them and what did not fit."""
_SUMMARY_SHARE = 0.2
"""The part of the budget that the beginning of a long summary may take."""


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

    def price(self, candidate: Candidate, version: AnyVersion) -> int:
        """The most this can add: item, label, and what opens a new section or the text."""
        price = self.renderer.cost(candidate, version.text)
        if candidate.section not in self._sections:
            price += self.renderer.frame_cost(candidate.section)
        if not self.chosen:
            price += self.renderer.count(self.renderer.preamble)
        return price

    def add(self, candidate: Candidate, version: AnyVersion) -> None:
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
        self.drop(worst)

    def drop(self, one: Chosen) -> None:
        del self.chosen[one.candidate.entry_id]
        self._sections = {other.candidate.section for other in self.chosen.values()}
        self.settle()

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
    _lengthen(selection, largest)
    while selection.exact() > budget:
        selection.drop_last()
    return selection


def _rank(candidate: Candidate) -> tuple[bool, float, str]:
    worth = candidate.value * min(1.0, _SHORT / max(candidate.size, 1)) ** _THRIFT
    return (not candidate.pinned, -round(worth, 9), candidate.entry_id)


def _needs(ranked: Iterable[Candidate], renderer: Renderer, budget: int) -> dict[Tier, int]:
    """Tokens each tier could use; counting stops once a tier could use the whole budget."""
    needs = dict.fromkeys(Tier, 0)
    framed: set[tuple[Tier, Section]] = set()
    for candidate in ranked:
        tier, section = candidate.tier, candidate.section
        if needs[tier] >= budget:
            continue
        size = candidate.size or renderer.count(candidate.versions[0].text)
        needs[tier] += renderer.count(renderer.label(candidate)) + size + size // 8 + _LEAST_ROOM
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
) -> AnyVersion | None:
    """The fullest form that fits the room and leaves space for others."""
    if room < _LEAST_ROOM:
        return None
    for version in candidate.versions:
        if _plainly_too_long(candidate, version, room):
            continue
        price = selection.price(candidate, version) if version.text else room + 1
        shortest = version is candidate.versions[-1]
        if price <= room and (price <= largest or candidate.pinned or shortest):
            return version
    return None


def _plainly_too_long(candidate: Candidate, version: AnyVersion, room: int) -> bool:
    """Whether making or counting the text would be wasted; both take longer than all the rest."""
    if isinstance(version, LateVersion):
        return version.size > room
    return version.form is Form.RAW and candidate.size > 1.2 * room


def _represent(selection: Selection, waiting: Sequence[Candidate]) -> None:
    """Let the summary of a stage, or of its task, stand for memories that found no room."""
    too_long: set[str] = set()
    for candidate in waiting:
        for stand_in in candidate.stand_ins:
            if stand_in.entry_id in too_long:
                continue
            if stand_in.entry_id in selection.chosen or _stands_in(selection, candidate, stand_in):
                break
            too_long.add(stand_in.entry_id)


def _stands_in(selection: Selection, candidate: Candidate, stand_in: StandIn) -> bool:
    """Add the summary when it fits, if need be in place of the least of those it covers."""
    substitute = _substitute(candidate, stand_in, selection)
    covered = [one for one in selection.chosen.values() if _covers(stand_in, one.candidate)]
    covered.sort(key=lambda one: _rank(one.candidate))
    dropped: list[Chosen] = []
    while True:
        room = selection.budget - selection.spent
        version = _best_version(selection, substitute, room, selection.budget)
        if version is not None:
            selection.add(substitute, version)
            return True
        if not covered or len(dropped) == _MOST_DISPLACED:
            break
        dropped.append(covered.pop())
        selection.drop(dropped[-1])
    for one in dropped:
        selection.add(one.candidate, one.version)
    return False


def _covers(stand_in: StandIn, candidate: Candidate) -> bool:
    return stand_in in candidate.stand_ins and not candidate.pinned


def _lengthen(selection: Selection, largest: int) -> None:
    """Spend what is left on fuller forms of what had to be shortened, best first."""
    shortened = [
        one for one in selection.chosen.values() if one.version is not one.candidate.versions[0]
    ]
    for one in sorted(shortened, key=lambda one: _rank(one.candidate)):
        held = selection.price(one.candidate, one.version)
        room = selection.budget - selection.spent + held
        fuller = _best_version(selection, one.candidate, room, largest)
        if fuller is not None and fuller is not one.version:
            selection.drop(one)
            selection.add(one.candidate, fuller)


def _substitute(candidate: Candidate, stand_in: StandIn, selection: Selection) -> Candidate:
    limit = int(selection.budget * _SUMMARY_SHARE)
    beginning = first_lines(stand_in.text, limit, selection.renderer.count)
    return replace(
        candidate,
        entry_id=stand_in.entry_id,
        section=Section.PAST,
        versions=(Version(stand_in.form, stand_in.text), Version(stand_in.form, beginning)),
        size=0,
        timestamp=stand_in.timestamp,
        origin=Origin.DERIVED,
        trust=stand_in.trust,
        reason="stands for memories that did not fit",
        disputed=False,
        stand_ins=(),
        why=None,
    )
