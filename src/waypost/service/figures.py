"""Figures about the stored data, for ``/metrics``: counts and sums, never contents.

They are sums over all agents, read in one snapshot and kept for a few seconds, so
that a scrape costs the database next to nothing however many look at it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from waypost.model import utc_now

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from waypost.store.database import Database

KEEP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Figure:
    """One gauge: its samples are label values and a number."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    samples: Sequence[tuple[tuple[str, ...], float]] = ()


class DataFigures:
    """Reads the figures of one database, and remembers them for a moment."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._at: float | None = None
        self._known: list[Figure] = []

    async def read(self) -> list[Figure]:
        now = self._clock()
        if self._at is None or now - self._at >= KEEP_SECONDS:
            self._known = await self._database.read(read_figures, utc_now())
            self._at = now
        return self._known


def read_figures(connection: Connection, now: datetime) -> list[Figure]:
    """Everything ``/metrics`` says about the data, in one snapshot."""
    return [
        _memories(connection),
        *_queue(connection, now),
        *_compression(connection),
    ]


def _memories(connection: Connection) -> Figure:
    from sqlalchemy import func, select

    from waypost.store.tables import memories

    rows = connection.execute(
        select(memories.c.tier, memories.c.type, func.count()).group_by(
            memories.c.tier, memories.c.type
        )
    )
    samples = [((tier, kind), float(count)) for tier, kind, count in rows]
    return Figure("waypost_memories", "Memories stored.", ("tier", "type"), samples)


def _queue(connection: Connection, now: datetime) -> list[Figure]:
    from sqlalchemy import func, select

    from waypost.store.tables import jobs

    rows = connection.execute(
        select(jobs.c.kind, func.count(), func.min(jobs.c.created_at))
        .where(jobs.c.finished_at.is_(None))
        .group_by(jobs.c.kind)
    ).all()
    depth = [((kind,), float(count)) for kind, count, _ in rows]
    age = [((kind,), _seconds(now, oldest)) for kind, _, oldest in rows]
    return [
        Figure("waypost_jobs", "Background jobs that wait.", ("kind",), depth),
        Figure("waypost_jobs_oldest_seconds", "Age of the oldest job.", ("kind",), age),
    ]


def _seconds(now: datetime, then: datetime) -> float:
    return max(0.0, (now - then).total_seconds())


def _compression(connection: Connection) -> list[Figure]:
    from sqlalchemy import func, select

    from waypost.store.tables import compression_metrics as m

    saved = func.sum(m.c.original_tokens - m.c.compressed_tokens)
    row = connection.execute(
        select(
            func.count(),
            saved,
            func.sum(m.c.original_tokens),
            func.sum(m.c.compressed_tokens),
            func.avg(m.c.information_retention_score),
            func.sum(m.c.cost_usd),
            func.sum(m.c.reasoning_cost_usd),
        )
    ).one()
    cached = connection.scalar(select(func.count()).where(m.c.cached))
    return _compression_figures(tuple(row), float(cached or 0))


def _compression_figures(row: tuple[Any, ...], cached: float) -> list[Figure]:
    count, saved, original, compressed, retention, cost, reasoning = (
        float(value or 0) for value in row
    )
    values = {
        "compressions": (count, "Compressions made."),
        "compressions_cached": (cached, "Compressions answered from the cache."),
        "tokens_saved": (saved, "Tokens that compression took out of contexts."),
        "compression_ratio": (
            original / compressed if compressed else 0.0,
            "Tokens in per token out.",
        ),
        "compression_retention": (retention, "Mean share of the facts that was kept."),
        "compression_cost_usd": (cost, "What compression cost."),
        "compression_reasoning_cost_usd": (
            reasoning,
            "What it would have cost on the reasoning model.",
        ),
    }
    return [
        Figure(f"waypost_{name}", text, (), [((), value)]) for name, (value, text) in values.items()
    ]
