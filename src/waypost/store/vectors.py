"""Embedders known to a database, the vectors of its memories, and the embedding queue.

One embedder is active; queries are compared with its vectors only. While another
one moves in (``reembed``), a memory may have a vector of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, func, insert, select, update

from waypost.exceptions import DimensionMismatch
from waypost.store.tables import embedders, embeddings, history, jobs, memories

EMBED = "embed"
FIRST_RETRY = timedelta(seconds=2)
LONGEST_RETRY = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A memory that waits for its vector."""

    agent_id: str
    memory_id: str
    row_id: int
    content: str
    source: str | None
    timestamp: datetime


def active_embedder(connection: Connection) -> tuple[str, int] | None:
    statement = select(embedders.c.name, embedders.c.dimension).where(embedders.c.active.is_(True))
    row = connection.execute(statement).first()
    return None if row is None else (row[0], row[1])


def register_embedder(
    connection: Connection, name: str, dimension: int, *, active: bool, now: datetime
) -> None:
    """Make an embedder known; one that is known under another dimension is refused."""
    known = connection.execute(
        select(embedders.c.dimension).where(embedders.c.name == name)
    ).scalar()
    if known is None:
        row = {"name": name, "dimension": dimension, "active": active, "created_at": now}
        connection.execute(insert(embedders), row)
    elif known != dimension:
        raise DimensionMismatch(
            f"embedder {name!r} gave vectors of {known} dimensions before and gives {dimension} "
            "now; use another name for another model",
            expected=known,
            found=dimension,
        )


def activate_embedder(connection: Connection, name: str) -> None:
    """Switch to an embedder and drop the vectors of the others."""
    connection.execute(update(embedders).values(active=embedders.c.name == name))
    connection.execute(delete(embeddings).where(embeddings.c.embedder != name))
    connection.execute(delete(embedders).where(embedders.c.name != name))


def waiting(connection: Connection, now: datetime, limit: int) -> list[Unembedded]:
    """Memories whose embedding job is due, oldest first, across agents."""
    statement = (
        _unembedded()
        .join(jobs, jobs.c.row_id == memories.c.row_id)
        .where(jobs.c.kind == EMBED, jobs.c.run_after <= now)
        .order_by(jobs.c.job_id)
        .limit(limit)
    )
    if connection.dialect.name == "postgresql":
        statement = statement.with_for_update(of=jobs, skip_locked=True)
    return [Unembedded(*row) for row in connection.execute(statement)]


def without_vector(
    connection: Connection, embedder: str, after_row: int, limit: int
) -> list[Unembedded]:
    """Memories that have no vector of this embedder, in row order, across agents."""
    has_one = select(embeddings.c.row_id).where(
        embeddings.c.row_id == memories.c.row_id, embeddings.c.embedder == embedder
    )
    statement = (
        _unembedded()
        .where(memories.c.row_id > after_row, ~has_one.exists())
        .order_by(memories.c.row_id)
        .limit(limit)
    )
    return [Unembedded(*row) for row in connection.execute(statement)]


def _unembedded() -> Any:
    return select(
        memories.c.agent_id,
        memories.c.memory_id,
        memories.c.row_id,
        memories.c.content,
        memories.c.source,
        memories.c.timestamp,
    )


def attach(
    connection: Connection,
    embedder: str,
    vectors: Mapping[int, NDArray[np.float32]],
    items: Sequence[Unembedded],
    now: datetime,
) -> int:
    """Store vectors that came late; rows deleted meanwhile are passed over."""
    alive = _alive(connection, [item.row_id for item in items])
    kept = [item for item in items if item.row_id in alive]
    drop_vectors(connection, embedder, [item.row_id for item in kept])
    if kept:
        connection.execute(insert(embeddings), [
            {"row_id": i.row_id, "embedder": embedder, "agent_id": i.agent_id,
             "vector": vectors[i.row_id]} for i in kept
        ])  # fmt: skip
        connection.execute(insert(history), [_embedded(i, now) for i in kept])
    finish(connection, items)
    return len(kept)


def _alive(connection: Connection, row_ids: Sequence[int]) -> set[int]:
    statement = select(memories.c.row_id).where(memories.c.row_id.in_(row_ids))
    return set(connection.execute(statement).scalars())


def drop_vectors(connection: Connection, embedder: str, row_ids: Sequence[int]) -> None:
    connection.execute(
        delete(embeddings).where(
            embeddings.c.embedder == embedder, embeddings.c.row_id.in_(row_ids)
        )
    )


def _embedded(item: Unembedded, now: datetime) -> dict[str, Any]:
    return {
        "agent_id": item.agent_id,
        "memory_id": item.memory_id,
        "row_id": item.row_id,
        "version": 0,
        "operation": "embedded",
        "before": {},
        "actor": None,
        "at": now,
    }


def finish(connection: Connection, items: Sequence[Unembedded]) -> None:
    """Take jobs off the queue."""
    subjects = [item.memory_id for item in items]
    connection.execute(delete(jobs).where(jobs.c.kind == EMBED, jobs.c.subject.in_(subjects)))


def postpone(
    connection: Connection, items: Sequence[Unembedded], error: str, now: datetime
) -> None:
    """Put failed jobs back, later each time."""
    subjects = [item.memory_id for item in items]
    rows = connection.execute(
        select(jobs.c.job_id, jobs.c.attempts).where(
            jobs.c.kind == EMBED, jobs.c.subject.in_(subjects)
        )
    ).all()
    for job_id, attempts in rows:
        delay = min(FIRST_RETRY * 2**attempts, LONGEST_RETRY)
        connection.execute(
            update(jobs)
            .where(jobs.c.job_id == job_id)
            .values(attempts=attempts + 1, run_after=now + delay, last_error=error[:500])
        )


def enqueue(
    connection: Connection, agent_id: str, memory_id: str, row_id: int, now: datetime
) -> None:
    """Ask for a new vector, as after a change of content."""
    connection.execute(
        delete(jobs).where(
            jobs.c.agent_id == agent_id, jobs.c.kind == EMBED, jobs.c.subject == memory_id
        )
    )
    connection.execute(
        insert(jobs),
        embed_job(agent_id, memory_id, row_id, now),
    )


def embed_job(agent_id: str, memory_id: str, row_id: int, now: datetime) -> dict[str, Any]:
    return {
        "agent_id": agent_id,
        "kind": EMBED,
        "subject": memory_id,
        "row_id": row_id,
        "payload": {},
        "attempts": 0,
        "run_after": now,
        "created_at": now,
    }


def queue_state(connection: Connection) -> tuple[int, datetime | None, str | None]:
    """How many memories wait for a vector, since when, and the last error."""
    statement = select(func.count(), func.min(jobs.c.created_at), func.max(jobs.c.last_error))
    row = connection.execute(statement.where(jobs.c.kind == EMBED)).one()
    return row[0], row[1], row[2]
