"""The values that go into the index and come out of it.

Arrays in ``Candidates`` are parallel and ordered best first. Route scores are those
of the recipe in ``ranking`` before weighting; a route that did not find a row has the
score 0 and the rank 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Slots: TypeAlias = NDArray[np.int64]
RowIds: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One memory as ranking sees it.

    ``episode`` groups the rows that were said or done together (a run, else a task);
    None leaves it to the index to group by time. ``asks`` marks a question, whose answer
    is likely the row after it. ``vector`` may be missing and arrive with a later ``add``.
    """

    row_id: int
    terms: Sequence[str]
    timestamp: float
    vector: NDArray[np.floating] | None = None
    episode: str | None = None
    active: bool = True
    asks: bool = False
    entities: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for.

    ``allowed`` limits the rows. ``time_range`` (half-open, in seconds) only favours rows
    that fall into it: a time read from the words of a question may be meant loosely.
    """

    terms: Sequence[str] = ()
    vector: NDArray[np.floating] | None = None
    entities: Sequence[str] = ()
    limit: int = 50
    allowed: RowIds | None = None
    include_inactive: bool = False
    time_range: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True, slots=True)
class RouteScores:
    """Scores of one route and the rank that each row reached on it (from 1; 0: not found)."""

    scores: Floats
    ranks: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows worth considering, best first, with the share that every route had in them."""

    row_ids: RowIds
    relevance: Floats
    routes: dict[str, RouteScores] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.row_ids)

    def found_by(self, position: int) -> list[tuple[str, int, float]]:
        """The routes that found the row at this position: name, rank, score."""
        return [
            (name, int(route.ranks[position]), float(route.scores[position]))
            for name, route in self.routes.items()
            if route.ranks[position] > 0
        ]
