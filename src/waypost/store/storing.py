"""The transaction of a write: idempotency, place, reconciling, rows.

All of a batch is stored or none of it. Row numbers are taken up front, so that
memory, vector, links and history go in with one statement each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, text

from waypost.exceptions import IdempotencyConflict, NotFound
from waypost.model import MemoryRecord
from waypost.store import hierarchy
from waypost.store import memories as repository
from waypost.store.inserting import insert_rows
from waypost.store.reconciling import Fresh, duplicate, reconcile
from waypost.store.rows import PreparedMemory, memory_row
from waypost.store.tables import (
    embeddings,
    history,
    idempotency_keys,
    jobs,
    links,
    memories,
    tasks,
)
from waypost.store.vectors import embed_job, is_active


@dataclass(slots=True)
class StoredRow:
    """What became of one prepared memory."""

    record: MemoryRecord
    duplicate: bool = False
    superseded: tuple[str, ...] = ()
    embedded: bool = True


def store(
    connection: Connection,
    agent_id: str,
    batch: Sequence[PreparedMemory],
    *,
    embedder: str | None,
    now: datetime,
    actor: str | None = None,
    as_one: bool = False,
) -> list[StoredRow]:
    """Store a batch in order; the answer has one entry for each.

    ``as_one`` says that the first memory gave rise to the others: when it turns out
    to be a repeat by its idempotency key, nothing is stored and only it is returned.
    """
    known = _known_keys(connection, agent_id, batch)
    if as_one and (earlier := _repeated(connection, agent_id, batch[0], known)) is not None:
        return [StoredRow(earlier, duplicate=True)]
    _refuse_completed_stages(connection, agent_id, batch, known)
    placed = _place(connection, agent_id, batch, now)
    if embedder is not None and not is_active(connection, embedder):
        # Another process moved to a new embedder: let its queue make the vectors.
        placed = [replace(prepared, vector=None) for prepared in placed]
    outcome: list[StoredRow] = []
    fresh = Fresh()
    for prepared in placed:
        repeated = _repeated(connection, agent_id, prepared, known)
        if repeated is None:
            repeated = duplicate(connection, agent_id, prepared, fresh)
        if repeated is not None:
            outcome.append(StoredRow(repeated, duplicate=True))
            continue
        prepared, closed = reconcile(connection, agent_id, prepared, fresh, now)
        fresh.append(prepared)
        embedded = prepared.vector is not None
        outcome.append(StoredRow(prepared.record, superseded=closed, embedded=embedded))
        if prepared.idempotency_key:  # the same key may come again further down the batch
            entry = {"body_digest": prepared.body_digest, "record": prepared.record}
            known[prepared.idempotency_key] = entry
    _insert(connection, agent_id, fresh.items, embedder=embedder, now=now, actor=actor)
    _remember_keys(connection, agent_id, placed, outcome, now)
    now_kept = fresh.records()
    return [replace(row, record=now_kept.get(row.record.memory_id, row.record)) for row in outcome]


def _known_keys(
    connection: Connection, agent_id: str, batch: Sequence[PreparedMemory]
) -> dict[str, Any]:
    keys = sorted({p.idempotency_key for p in batch if p.idempotency_key})
    found: dict[str, Any] = {}
    for part in repository.chunks(keys):
        statement = select(idempotency_keys).where(
            idempotency_keys.c.agent_id == agent_id, idempotency_keys.c.key.in_(part)
        )
        found.update({row["key"]: row for row in connection.execute(statement).mappings()})
    return found


def _repeated(
    connection: Connection, agent_id: str, prepared: PreparedMemory, known: Mapping[str, Any]
) -> MemoryRecord | None:
    """The record of an earlier write with the same idempotency key."""
    entry = known.get(prepared.idempotency_key or "")
    if entry is None:
        return None
    if entry["body_digest"] != prepared.body_digest:
        raise IdempotencyConflict(
            f"idempotency key {prepared.idempotency_key!r} was used before with another body; "
            "use a new key for a new memory",
            key=prepared.idempotency_key,
        )
    if "record" in entry:
        return entry["record"]  # type: ignore[no-any-return]
    first = entry["memory_ids"][0]
    found = repository.by_ids(connection, agent_id, [first]).get(first)
    if found is None:
        raise NotFound(f"memory {first} of this idempotency key was deleted", memory_id=first)
    return found


def _place(
    connection: Connection, agent_id: str, batch: Sequence[PreparedMemory], now: datetime
) -> list[PreparedMemory]:
    """Give memories of a task its project and its open stage."""
    task_ids = sorted({p.record.task_id for p in batch if p.record.task_id})
    if not task_ids:
        return list(batch)
    projects = _projects(connection, agent_id, task_ids)
    open_stages = hierarchy.place(connection, agent_id, task_ids, now)
    return [_placed(prepared, projects, open_stages) for prepared in batch]


def _refuse_completed_stages(
    connection: Connection,
    agent_id: str,
    batch: Sequence[PreparedMemory],
    known: Mapping[str, Any],
) -> None:
    """A repeat by its idempotency key adds nothing, so only new memories are held to it."""
    given = {p.record.stage_id for p in batch if (p.idempotency_key or "") not in known}
    if wanted := sorted(stage_id for stage_id in given if stage_id is not None):
        hierarchy.refuse_completed(connection, agent_id, wanted)


def _projects(connection: Connection, agent_id: str, task_ids: Sequence[str]) -> dict[str, Any]:
    statement = select(tasks.c.task_id, tasks.c.project_id).where(
        tasks.c.agent_id == agent_id, tasks.c.task_id.in_(task_ids)
    )
    return {row.task_id: row.project_id for row in connection.execute(statement)}


def _placed(
    prepared: PreparedMemory, projects: Mapping[str, str | None], open_stages: Mapping[str, str]
) -> PreparedMemory:
    record = prepared.record
    if record.task_id is None:
        return prepared
    place = {
        "project_id": record.project_id or projects.get(record.task_id),
        "stage_id": record.stage_id or open_stages.get(record.task_id),
    }
    return replace(prepared, record=record.model_copy(update=place))


def _insert(
    connection: Connection,
    agent_id: str,
    fresh: Sequence[PreparedMemory],
    *,
    embedder: str | None,
    now: datetime,
    actor: str | None,
) -> None:
    if not fresh:
        return
    numbered = list(zip(_row_numbers(connection, len(fresh)), fresh, strict=True))
    embedded = [(number, item) for number, item in numbered if item.vector is not None]
    waiting = [(number, item) for number, item in numbered if item.vector is None]
    insert_rows(connection, memories, [memory_row(*pair) for pair in numbered])
    insert_rows(connection, embeddings, [_vector_row(agent_id, *p, embedder) for p in embedded])
    insert_rows(
        connection, jobs, [embed_job(agent_id, i.record.memory_id, n, now) for n, i in waiting]
    )
    insert_rows(connection, links, [row for item in fresh for row in _link_rows(item.record)])
    insert_rows(connection, history, [_added(agent_id, *pair, actor, now) for pair in numbered])


def _row_numbers(connection: Connection, amount: int) -> list[int]:
    if connection.dialect.name == "postgresql":
        statement = text(
            "SELECT nextval(pg_get_serial_sequence('memories', 'row_id')) "
            "FROM generate_series(1, :amount)"
        )
        return list(connection.execute(statement, {"amount": amount}).scalars())
    raw: Any = connection.connection.driver_connection
    row = raw.execute("SELECT seq FROM sqlite_sequence WHERE name = 'memories'").fetchone()
    first = 1 if row is None else row[0] + 1
    return list(range(first, first + amount))


def _vector_row(
    agent_id: str, number: int, item: PreparedMemory, embedder: str | None
) -> dict[str, Any]:
    return {"row_id": number, "embedder": embedder, "agent_id": agent_id, "vector": item.vector}


def _link_rows(record: MemoryRecord) -> list[dict[str, Any]]:
    unique = dict.fromkeys((link.kind.value, link.target_id) for link in record.links)
    return [
        {
            "source_id": record.memory_id,
            "kind": kind,
            "target_id": target,
            "agent_id": record.agent_id,
        }
        for kind, target in unique
    ]


def _added(
    agent_id: str, number: int, item: PreparedMemory, actor: str | None, now: datetime
) -> dict[str, Any]:
    return {
        "agent_id": agent_id,
        "memory_id": item.record.memory_id,
        "row_id": number,
        "version": item.record.version,
        "operation": "add",
        "before": {},
        "actor": actor,
        "at": now,
    }


def _remember_keys(
    connection: Connection,
    agent_id: str,
    batch: Sequence[PreparedMemory],
    outcome: Sequence[StoredRow],
    now: datetime,
) -> None:
    rows = {
        prepared.idempotency_key: {
            "agent_id": agent_id,
            "key": prepared.idempotency_key,
            "body_digest": prepared.body_digest,
            "memory_ids": [stored.record.memory_id],
            "created_at": now,
        }
        for prepared, stored in zip(batch, outcome, strict=True)
        if prepared.idempotency_key
    }
    known = _known_keys(connection, agent_id, batch) if rows else {}
    new = [row for key, row in rows.items() if key not in known]
    if new:
        connection.execute(insert(idempotency_keys), new)
