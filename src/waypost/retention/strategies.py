"""Ranking memories by how little would be missed. Pure: no clock, ties settled by age and id."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from waypost.model.retention import Strategy

_HALF_LIFE_DAYS = 30.0


@dataclass(frozen=True)
class Standing:
    """What a strategy looks at."""

    memory_id: str
    timestamp: datetime
    importance: float
    relevance_score: float
    access_count: int
    last_accessed: datetime | None
    superseded: bool
    token_count: int
    critical: bool = False


def least_missed_first(standings: Sequence[Standing], strategy: Strategy) -> list[Standing]:
    """All of them, the first to go first."""
    newest = max((one.timestamp for one in standings), default=None)
    if newest is None:
        return []
    worth = _WORTH[strategy]
    return sorted(
        standings,
        key=lambda one: (round(worth(one, newest), 9), one.timestamp, one.memory_id),
    )


def _relevance(one: Standing, newest: datetime) -> float:
    """What was replaced goes first; the rest by relevance, importance, use and age together."""
    if one.superseded:
        return -1.0
    use = 1 - 1 / (1 + math.log1p(one.access_count))
    moment = max(one.timestamp, one.last_accessed or one.timestamp)
    freshness = 0.5 ** (max(0.0, (newest - moment).total_seconds()) / 86_400 / _HALF_LIFE_DAYS)
    return float(0.4 * one.relevance_score * one.importance + 0.3 * freshness + 0.3 * use)


def _age(one: Standing, newest: datetime) -> float:
    return -(newest - one.timestamp).total_seconds()


def _frequency(one: Standing, newest: datetime) -> float:
    return float(one.access_count)


def _importance(one: Standing, newest: datetime) -> float:
    return one.importance


_WORTH: dict[Strategy, Callable[[Standing, datetime], float]] = {
    Strategy.LEAST_RELEVANT: _relevance,
    Strategy.OLDEST_FIRST: _age,
    Strategy.FREQUENCY_BASED: _frequency,
    Strategy.LEAST_IMPORTANT: _importance,
}
