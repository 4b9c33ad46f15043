"""Choose units that cover the ledger's facts at the least cost.

Greedy weighted coverage with a lazy heap: the unit with the most uncovered weight per character
goes first, so a short line with a rare fact beats a long one that repeats. Repeats and near
repeats add no weight and are never chosen. Selection ends when the floor is covered and the
budget is filled with lines that are worth it, whichever comes later. Ties are broken by position:
same input, same choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from waypost.stages.compress.ledger import Ledger
from waypost.stages.compress.units import GIVEN

_LINE_COST = 12
WORTH_A_LINE = 0.2
PREFERENCE = 2.0
"""How much more a fact is worth in a model's words than in the source's, for its length."""


class Coverage:
    """Which facts the chosen units cover so far."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.held = ledger.facts_of_units()
        self.covered = [0] * len(ledger.entries)
        self.weight = 0.0
        self.chosen: dict[int, None] = {}

    def gain(self, unit: int) -> float:
        entries = self.ledger.entries
        return sum(entries[fact].weight for fact in self.held[unit] if not self.covered[fact])

    def take(self, unit: int) -> None:
        self.weight += self.gain(unit)
        self.chosen[unit] = None
        for fact in self.held[unit]:
            self.covered[fact] += 1

    def drop_idle(self, keep: set[int]) -> None:
        """Let go of units whose facts later choices all cover as well."""
        for unit in list(self.chosen):
            if unit not in keep and all(self.covered[fact] > 1 for fact in self.held[unit]):
                del self.chosen[unit]
                for fact in self.held[unit]:
                    self.covered[fact] -= 1

    def drop_spare(self, keep: set[int], target: float) -> None:
        """Let go of the units that give least for their length while the target stays covered."""
        spare = [unit for unit in self.chosen if unit not in keep]
        for unit in sorted(spare, key=lambda unit: (self._share(unit), unit)):
            loss = self._loss(unit)
            if self.weight - loss >= target:
                self.weight -= loss
                del self.chosen[unit]
                for fact in self.held[unit]:
                    self.covered[fact] -= 1

    def _loss(self, unit: int) -> float:
        entries = self.ledger.entries
        return sum(entries[fact].weight for fact in self.held[unit] if self.covered[fact] == 1)

    def _share(self, unit: int) -> float:
        return self._loss(unit) / (len(self.ledger.units[unit].text) + _LINE_COST)


def select(
    ledger: Ledger,
    *,
    floor: float,
    budget: int,
    count: Callable[[str], int],
    always: Sequence[int] = (),
) -> list[int]:
    """The positions of the chosen units, in order.

    ``floor`` is the share of weight to reach whatever it costs, ``budget`` the tokens that may be
    filled beyond it, ``count`` the exact cost of a text, ``always`` units that are in anyway.
    """
    coverage = Coverage(ledger)
    spent = 0
    for fixed in always:
        coverage.take(fixed)
        spent += count(ledger.units[fixed].text) + 1
    target = floor * ledger.total
    heap = _ranked(coverage, set(always))
    while (unit := _best(heap, coverage)) is not None:
        cost = count(ledger.units[unit].text) + 1
        if coverage.weight >= target and (
            spent + cost > budget or coverage.gain(unit) < WORTH_A_LINE
        ):
            break
        coverage.take(unit)
        spent += cost
    coverage.drop_idle(set(always))
    if spent > budget:
        coverage.drop_spare(set(always), target)
    return sorted(coverage.chosen)


def _ranked(coverage: Coverage, taken: set[int]) -> list[tuple[float, int]]:
    heap = [
        (-_value(coverage, unit), unit)
        for unit in range(len(coverage.held))
        if unit not in taken and coverage.held[unit]
    ]
    heapify(heap)
    return heap


def _best(heap: list[tuple[float, int]], coverage: Coverage) -> int | None:
    """The unit of highest value now; values only fall, so a fresh top that stays top is best."""
    while heap:
        _, unit = heappop(heap)
        value = _value(coverage, unit)
        if value <= 0.0:
            continue
        if not heap or (-value, unit) <= heap[0]:
            return unit
        heappush(heap, (-value, unit))
    return None


def _value(coverage: Coverage, unit: int) -> float:
    found = coverage.ledger.units[unit]
    preference = PREFERENCE if found.shape == GIVEN else 1.0
    return preference * coverage.gain(unit) / (len(found.text) + _LINE_COST)
