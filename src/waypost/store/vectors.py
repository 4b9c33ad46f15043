"""Embedders known to a database, the vectors of its memories, and the embedding queue.

One embedder is active; queries are compared with its vectors only. While another
one moves in (``reembed``), a memory may have a vector of each. A job of the queue
stands for one state of a memory's text: a change of the text makes a new job, so a
vector that was made for the old text finds its job gone and is not stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, func, insert, select, text, update

from waypost.exceptions import DimensionMismatch
from waypost.store.tables import embedders, embeddings, history, jobs, memories

EMBED = "embed"
FIRST_RETRY = timedelta(seconds=2)
LONGEST_RETRY = timedelta(minutes=10)
LEASE = timedelta(minutes=3)
"""How long a claimed job is left to its worker; longer than any embedder's time-outs."""

_ACTIVE = (
    select(embedders.c.name)
    .where(embedders.c.active.is_(True), embedders.c.name == bindparam("name"))
    .with_for_update(read=True, key_share=True)
)


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A memory that waits for its vector."""

    agent_id: str
    memory_id: str
    row_id: int
    content: str
    source: str | None
    timestamp: datetime
    version: int
    job_id: int = 0


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


def claim_embedder(connection: Connection, name: str, dimension: int, now: datetime) -> None:
    """Make the first embedder the active one; refuse to mix vectors of two."""
    active = active_embedder(connection)
    if active is None and connection.dialect.name == "postgresql":
        # Of several processes that open an empty database, one is first.
        connection.execute(text("LOCK TABLE embedders IN SHARE ROW EXCLUSIVE MODE"))
        active = active_embedder(connection)
    if active is not None and active[0] != name:
        raise DimensionMismatch(
            f"the memories here have vectors of {active[0]!r} ({active[1]} dimensions), not of "
            f"{name!r} ({dimension}); open with that embedder, or move them with "
            "'waypost reembed'",
            expected=active[0],
            found=name,
        )
    register_embedder(connection, name, dimension, active=active is None, now=now)


def is_active(connection: Connection, embedder: str) -> bool:
    """Whether vectors of this embedder are the ones in use; holds until the transaction ends."""
    return connection.execute(_ACTIVE, {"name": embedder}).first() is not None


def hold_embedders(connection: Connection) -> None:
    """Wait for writers that rely on the active embedder, and keep others waiting."""
    connection.execute(select(embedders.c.name).with_for_update()).all()


def activate_embedder(connection: Connection, name: str) -> None:
    """Switch to an embedder and drop the vectors of the others."""
    connection.execute(update(embedders).values(active=embedders.c.name == name))
    connection.execute(delete(embeddings).where(embeddings.c.embedder != name))
    connection.execute(delete(embedders).where(embedders.c.name != name))


def claim(connection: Connection, embedder: str, now: datetime, limit: int) -> list[Unembedded]:
    """Take the jobs that are due, oldest first, across agents; other workers leave them alone.

    A worker that dies keeps them for the length of ``LEASE`` only. An embedder that is no
    longer the active one gets none.
    """
    if not is_active(connection, embedder):
        return []
    statement = (
        _unembedded(jobs.c.job_id)
        .join(jobs, jobs.c.row_id == memories.c.row_id)
        .where(jobs.c.kind == EMBED, jobs.c.run_after <= now)
        .order_by(jobs.c.job_id)
        .limit(limit)
        .with_for_update(of=jobs, skip_locked=True)
    )
    items = [Unembedded(*row) for row in connection.execute(statement)]
    _set_due(connection, items, now + LEASE)
    return items


def release(connection: Connection, items: Sequence[Unembedded], now: datetime) -> None:
    """Give claimed jobs back untried."""
    _set_due(connection, items, now)


def _set_due(connection: Connection, items: Sequence[Unembedded], due: datetime) -> None:
    ids = [item.job_id for item in items]
    if ids:
        connection.execute(update(jobs).where(jobs.c.job_id.in_(ids)).values(run_after=due))


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


def _unembedded(*more: Any) -> Any:
    return select(
        memories.c.agent_id,
        memories.c.memory_id,
        memories.c.row_id,
        memories.c.content,
        memories.c.source,
        memories.c.timestamp,
        memories.c.version,
        *more,
    )


def attach(
    connection: Connection,
    embedder: str,
    vectors: Mapping[int, NDArray[np.float32]],
    items: Sequence[Unembedded],
    now: datetime,
) -> int:
    """Store the vectors of claimed jobs that are still wanted; how many."""
    if not is_active(connection, embedder):
        return 0
    wanted = _still_queued(connection, items)
    if wanted:
        drop_vectors(connection, [item.row_id for item in wanted], embedder=embedder)
        connection.execute(insert(embeddings), [
            {"row_id": i.row_id, "embedder": embedder, "agent_id": i.agent_id,
             "vector": vectors[i.row_id]} for i in wanted
        ])  # fmt: skip
        connection.execute(insert(history), [_embedded(i, now) for i in wanted])
        ids = [item.job_id for item in wanted]
        connection.execute(delete(jobs).where(jobs.c.job_id.in_(ids)))
    return len(wanted)


def _still_queued(connection: Connection, items: Sequence[Unembedded]) -> list[Unembedded]:
    """The items whose memory was neither changed nor deleted since they were claimed."""
    statement = select(jobs.c.job_id).where(jobs.c.job_id.in_([item.job_id for item in items]))
    queued = set(connection.execute(statement).scalars())
    return [item for item in items if item.job_id in queued]


def drop_vectors(
    connection: Connection, row_ids: Sequence[int], *, embedder: str | None = None
) -> None:
    """Delete the vectors of these rows, of one embedder or of all."""
    statement = delete(embeddings).where(embeddings.c.row_id.in_(row_ids))
    if embedder is not None:
        statement = statement.where(embeddings.c.embedder == embedder)
    connection.execute(statement)


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


def postpone(
    connection: Connection, items: Sequence[Unembedded], error: str, now: datetime
) -> None:
    """Put failed jobs back, later each time."""
    ids = [item.job_id for item in items]
    rows = connection.execute(
        select(jobs.c.job_id, jobs.c.attempts).where(jobs.c.job_id.in_(ids))
    ).all()
    for job_id, attempts in rows:
        connection.execute(
            update(jobs)
            .where(jobs.c.job_id == job_id)
            .values(
                attempts=attempts + 1,
                run_after=now + retry_delay(attempts),
                last_error=error[:500],
            )
        )


def retry_delay(attempts: int) -> timedelta:
    """Twice as long after each failure, up to ``LONGEST_RETRY``."""
    doublings = min(attempts, 20)
    return min(FIRST_RETRY * (1 << doublings), LONGEST_RETRY)


def enqueue(
    connection: Connection, agent_id: str, memory_id: str, row_id: int, now: datetime
) -> None:
    """Ask for a new vector, as after a change of content."""
    dequeue(connection, agent_id, memory_id)
    connection.execute(insert(jobs), embed_job(agent_id, memory_id, row_id, now))


def dequeue(connection: Connection, agent_id: str, memory_id: str) -> None:
    """Withdraw a memory's job: it has a vector now, or gets another job."""
    connection.execute(
        delete(jobs).where(
            jobs.c.agent_id == agent_id, jobs.c.kind == EMBED, jobs.c.subject == memory_id
        )
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


def next_due(connection: Connection) -> datetime | None:
    """When the first vector that waits may be tried."""
    return connection.execute(
        select(func.min(jobs.c.run_after)).where(jobs.c.kind == EMBED)
    ).scalar()


def queue_state(connection: Connection) -> tuple[int, datetime | None, str | None]:
    """How many memories wait for a vector, since when, and the last error."""
    statement = select(func.count(), func.min(jobs.c.created_at), func.max(jobs.c.last_error))
    row = connection.execute(statement.where(jobs.c.kind == EMBED)).one()
    return row[0], row[1], row[2]
