"""Between rows and archived values: everything about a memory, out and back in unchanged."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import Connection, Table, delete, insert, or_, select
from sqlalchemy.types import TypeDecorator

from waypost.model.times import utc_now
from waypost.retention.bundle import Line, line_of
from waypost.store import vectors
from waypost.store.memories import chunks, record_event
from waypost.store.tables import accesses, embedders, embeddings, links, memories
from waypost.store.types import Time


def read_lines(connection: Connection, agent_id: str, ids: Sequence[str]) -> list[Line]:
    """The memories among ``ids`` that exist, each with all that hangs on it, in row order."""
    lines: list[Line] = []
    for part in chunks(ids):
        lines.extend(_read_part(connection, agent_id, part))
    return lines


def _read_part(connection: Connection, agent_id: str, ids: Sequence[str]) -> list[Line]:
    own = memories.c.agent_id == agent_id
    statement = select(memories).where(own, memories.c.memory_id.in_(ids))
    rows = connection.execute(statement.order_by(memories.c.row_id)).mappings().all()
    numbers = [row["row_id"] for row in rows]
    counts = _by_row(connection, accesses, agent_id, numbers)
    found = _by_row(connection, embeddings, agent_id, numbers)
    joined = _links(connection, agent_id, [row["memory_id"] for row in rows])
    return [
        line_of(
            {
                "memory": plain(row),
                "accesses": counts[row["row_id"]],
                "embeddings": found[row["row_id"]],
                "links": joined[row["memory_id"]],
            }
        )
        for row in rows
    ]


def _by_row(
    connection: Connection, table: Table, agent_id: str, numbers: Sequence[int]
) -> dict[int, list[dict[str, Any]]]:
    statement = select(table).where(table.c.agent_id == agent_id, table.c.row_id.in_(numbers))
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in connection.execute(statement.order_by(*table.primary_key)).mappings():
        found[row["row_id"]].append(plain(row))
    return found


def _links(
    connection: Connection, agent_id: str, ids: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """The links from and to each memory: deleting it removes both, restoring brings both back."""
    statement = (
        select(links)
        .where(
            links.c.agent_id == agent_id,
            or_(links.c.source_id.in_(ids), links.c.target_id.in_(ids)),
        )
        .order_by(links.c.source_id, links.c.kind, links.c.target_id)
    )
    wanted = set(ids)
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in connection.execute(statement).mappings():
        for end in sorted({row["source_id"], row["target_id"]} & wanted):
            found[end].append(plain(row))
    return found


def plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): _plain_value(value) for name, value in row.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, np.ndarray):
        return base64.b64encode(value.astype("<f2").tobytes()).decode()
    return value


def write_lines(connection: Connection, agent_id: str, lines: Iterable[Line]) -> list[str]:
    """Put memories back; those that are there already are left as they are."""
    restored = []
    for line in lines:
        if _exists(connection, memories.c.memory_id == line.memory_id):
            continue
        _write_one(connection, agent_id, line.values)
        restored.append(line.memory_id)
    return restored


def _write_one(connection: Connection, agent_id: str, values: dict[str, Any]) -> None:
    row = _row(memories, {**values["memory"], "agent_id": agent_id})
    if _exists(connection, memories.c.row_id == row["row_id"]):
        row.pop("row_id")
    connection.execute(insert(memories), row)
    placed = memories.c.memory_id == row["memory_id"]
    number = connection.execute(select(memories.c.row_id).where(placed)).scalar_one()
    for count in values["accesses"]:
        connection.execute(insert(accesses), {**_row(accesses, count), "row_id": number})
    _write_vectors(connection, agent_id, values, number)
    _write_links(connection, agent_id, values["links"])
    stored = connection.execute(select(memories).where(placed)).mappings().one()
    record_event(
        connection, stored, operation="restore", version=stored["version"], before={},
        actor=None, at=utc_now(),
    )  # fmt: skip


def _write_vectors(
    connection: Connection, agent_id: str, values: dict[str, Any], number: int
) -> None:
    """Vectors of embedders that are still known; without one, the memory queues for a new one."""
    known = set(connection.execute(select(embedders.c.name)).scalars())
    active = vectors.active_embedder(connection)
    rows = [_row(embeddings, one) for one in values["embeddings"] if one["embedder"] in known]
    for row in rows:
        connection.execute(insert(embeddings), {**row, "row_id": number, "agent_id": agent_id})
    if active is not None and active[0] not in {row["embedder"] for row in rows}:
        memory_id = values["memory"]["memory_id"]
        vectors.enqueue(connection, agent_id, memory_id, number, utc_now())


def _write_links(connection: Connection, agent_id: str, archived: Sequence[dict[str, Any]]) -> None:
    """Links whose source exists; the others come back with the memory they start from."""
    for link in archived:
        same = (
            (links.c.source_id == link["source_id"])
            & (links.c.kind == link["kind"])
            & (links.c.target_id == link["target_id"])
        )
        source_exists = _exists(connection, memories.c.memory_id == link["source_id"])
        if source_exists and not _exists(connection, same):
            connection.execute(insert(links), {**link, "agent_id": agent_id})


def _exists(connection: Connection, condition: Any) -> bool:
    return connection.execute(select(1).where(condition).limit(1)).first() is not None


def _row(table: Table, values: dict[str, Any]) -> dict[str, Any]:
    return {
        column.name: _typed(column.type, values[column.name])
        for column in table.c
        if column.name in values
    }


def _typed(type_: Any, value: Any) -> Any:
    if value is None or not isinstance(type_, TypeDecorator):
        return value
    if isinstance(type_, Time):
        return datetime.fromisoformat(value)
    return np.frombuffer(base64.b64decode(value), dtype="<f2").astype(np.float32)


def drop_jobs(connection: Connection, agent_id: str, ids: Sequence[str]) -> None:
    """Memories that leave need no vector any more."""
    from waypost.store.tables import jobs

    for part in chunks(ids):
        connection.execute(
            delete(jobs).where(jobs.c.agent_id == agent_id, jobs.c.subject.in_(part))
        )
