"""Reading and changing memories. Every function names the agent it acts for.

Writes that create memories live in ``waypost.store.storing``; this module reads,
edits, supersedes and deletes. Each change appends to ``history``, in the same
transaction, what the record was before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from waypost.exceptions import NotFound, VersionConflict
from waypost.filters.conditions import Condition, Query
from waypost.filters.sql import order_clauses, where_clause
from waypost.model import HistoryEntry, MemoryLink, MemoryRecord
from waypost.store.numbered import rows_by_number
from waypost.store.rows import link_from, record_from
from waypost.store.tables import (
    accesses,
    embedding_cache,
    embeddings,
    history,
    links,
    memories,
)

_ROW = [*memories.c, accesses.c.access_count, accesses.c.last_accessed]
_JOINED = memories.outerjoin(accesses, accesses.c.row_id == memories.c.row_id)

_ROW_COLUMNS = tuple(_ROW)
_ROW_NAMES = tuple(column.name for column in _ROW)
_LINKS_OF = (
    select(links)
    .where(
        links.c.agent_id == bindparam("agent_id"),
        links.c.source_id.in_(bindparam("sources", expanding=True)),
    )
    .order_by(links.c.kind, links.c.target_id)
)

_DERIVED = frozenset({"digest", "fact_key", "index_terms"})
"""Columns that follow from others and are therefore not part of a memory's history."""

COLUMNS: dict[str, ColumnElement[Any]] = {
    **{column.name: column for column in memories.c},
    "access_count": func.coalesce(accesses.c.access_count, 0),
    "last_accessed": accesses.c.last_accessed,
}
"""What a filter's field names stand for."""


def chunks(values: Sequence[Any], size: int = 500) -> Iterable[Sequence[Any]]:
    """Cut a list so that no statement has more parameters than a database takes."""
    return (values[start : start + size] for start in range(0, len(values), size))


def rows_of(agent_id: str | BindParameter[str]) -> Select[Any]:
    return select(*_ROW).select_from(_JOINED).where(memories.c.agent_id == agent_id)


def get(connection: Connection, agent_id: str, memory_id: str) -> MemoryRecord:
    """The memory, or NotFound: also when it is another agent's."""
    found = by_ids(connection, agent_id, [memory_id])
    if not found:
        raise NotFound(f"no memory {memory_id} for agent {agent_id!r}", memory_id=memory_id)
    return found[memory_id]


def by_ids(connection: Connection, agent_id: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
    """The memories among these ids that this agent has, by id."""
    rows: list[RowMapping] = []
    for part in chunks(ids):
        statement = rows_of(agent_id).where(memories.c.memory_id.in_(part))
        rows.extend(connection.execute(statement).mappings())
    return {record.memory_id: record for record in with_links(connection, agent_id, rows)}


def by_rows(
    connection: Connection, agent_id: str, row_ids: Sequence[int], *, linked: bool = True
) -> dict[int, MemoryRecord]:
    """The memories in these rows that this agent has, by row number.

    ``linked`` says whether the agent has any links; without them none are looked for.
    """
    rows = [
        dict(zip(_ROW_NAMES, values, strict=True))
        for part in chunks(row_ids)
        for values in rows_by_number(connection, _ROW_COLUMNS, agent_id, part)
    ]
    records = with_links(connection, agent_id, rows) if linked else map(record_from, rows)
    return {row["row_id"]: record for row, record in zip(rows, records, strict=True)}


def with_links(
    connection: Connection, agent_id: str, rows: Sequence[Mapping[Any, Any]]
) -> list[MemoryRecord]:
    grouped: dict[str, list[MemoryLink]] = {}
    for part in chunks([row["memory_id"] for row in rows]):
        values = {"agent_id": agent_id, "sources": part}
        for link in connection.execute(_LINKS_OF, values).mappings():
            grouped.setdefault(link["source_id"], []).append(link_from(link))
    return [record_from(row, grouped.get(row["memory_id"], ())) for row in rows]


def find(connection: Connection, agent_id: str, query: Query) -> list[MemoryRecord]:
    """The memories that match, in the query's order."""
    dialect = connection.dialect.name
    statement = (
        rows_of(agent_id)
        .where(where_clause(query.where, COLUMNS, dialect))
        .order_by(*order_clauses(query.order, COLUMNS, dialect))
        .limit(query.limit)
    )
    rows = connection.execute(statement).mappings().all()
    return with_links(connection, agent_id, rows)


def matching_rows(connection: Connection, agent_id: str, where: Condition) -> list[int]:
    """The row numbers of every memory that matches."""
    statement = (
        select(memories.c.row_id)
        .select_from(_JOINED)
        .where(
            memories.c.agent_id == agent_id,
            where_clause(where, COLUMNS, connection.dialect.name),
        )
    )
    return list(connection.execute(statement).scalars())


def count(connection: Connection, agent_id: str, where: Condition | None = None) -> int:
    statement = select(func.count()).select_from(_JOINED).where(memories.c.agent_id == agent_id)
    if where is not None:
        statement = statement.where(where_clause(where, COLUMNS, connection.dialect.name))
    return int(connection.execute(statement).scalar_one())


def change(
    connection: Connection,
    agent_id: str,
    memory_id: str,
    values: Mapping[str, Any],
    *,
    now: datetime,
    operation: str = "update",
    actor: str | None = None,
    expected_version: int | None = None,
) -> None:
    """Set columns of one memory and record in history what they held before."""
    statement = select(memories).where(
        memories.c.agent_id == agent_id, memories.c.memory_id == memory_id
    )
    if connection.dialect.name == "postgresql":
        statement = statement.with_for_update()
    row = connection.execute(statement).mappings().first()
    if row is None:
        raise NotFound(f"no memory {memory_id} for agent {agent_id!r}", memory_id=memory_id)
    if expected_version is not None and row["version"] != expected_version:
        raise VersionConflict(
            f"memory {memory_id} is at version {row['version']}, not {expected_version}; "
            "read it again and repeat the change",
            found=row["version"],
            expected=expected_version,
        )
    before = {
        name: row[name] for name in values if row[name] != values[name] and name not in _DERIVED
    }
    version = row["version"] + 1
    connection.execute(
        update(memories)
        .where(memories.c.row_id == row["row_id"])
        .values(**values, version=version, updated_at=now)
    )
    record_event(
        connection, row, operation=operation, version=version, before=before, actor=actor, at=now
    )


def replace_links(
    connection: Connection, agent_id: str, memory_id: str, wanted: Iterable[MemoryLink]
) -> None:
    connection.execute(
        delete(links).where(links.c.agent_id == agent_id, links.c.source_id == memory_id)
    )
    add_links(connection, agent_id, memory_id, wanted)


def add_links(
    connection: Connection, agent_id: str, memory_id: str, wanted: Iterable[MemoryLink]
) -> None:
    rows = {
        (link.kind.value, link.target_id): {
            "source_id": memory_id,
            "kind": link.kind.value,
            "target_id": link.target_id,
            "agent_id": agent_id,
        }
        for link in wanted
    }
    if rows:
        connection.execute(insert(links), list(rows.values()))


def remove(
    connection: Connection,
    agent_id: str,
    ids: Sequence[str],
    *,
    now: datetime,
    operation: str = "delete",
    actor: str | None = None,
) -> int:
    """Delete memories with their vectors and links; history keeps the fact, not the text."""
    removed = 0
    for part in chunks(ids):
        owned = and_(memories.c.agent_id == agent_id, memories.c.memory_id.in_(part))
        rows = (
            connection.execute(
                select(
                    memories.c.row_id, memories.c.memory_id, memories.c.agent_id, memories.c.version
                ).where(owned)
            )
            .mappings()
            .all()
        )
        for row in rows:
            record_event(
                connection, row, operation=operation, version=row["version"], before={},
                actor=actor, at=now,
            )  # fmt: skip
        found = [row["memory_id"] for row in rows]
        connection.execute(
            delete(links).where(links.c.agent_id == agent_id, links.c.target_id.in_(found))
        )
        if operation == "delete":
            _drop_traces(connection, agent_id, found)
        connection.execute(delete(memories).where(owned))
        removed += len(rows)
    return removed


def _drop_traces(connection: Connection, agent_id: str, ids: Sequence[str]) -> None:
    """Take the text of deleted memories out of their history and of the cached vectors."""
    own = and_(history.c.agent_id == agent_id, history.c.memory_id.in_(ids))
    connection.execute(update(history).where(own).values(before={}))
    if ids:
        connection.execute(delete(embedding_cache).where(embedding_cache.c.agent_id == agent_id))


def record_event(
    connection: Connection,
    row: RowMapping,
    *,
    operation: str,
    version: int,
    before: Mapping[str, Any],
    actor: str | None,
    at: datetime,
) -> None:
    connection.execute(
        insert(history),
        {
            "agent_id": row["agent_id"],
            "memory_id": row["memory_id"],
            "row_id": row["row_id"],
            "version": version,
            "operation": operation,
            "before": {name: _plain(value) for name, value in before.items()},
            "actor": actor,
            "at": at,
        },
    )


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def events(connection: Connection, agent_id: str, memory_id: str) -> list[HistoryEntry]:
    """The life of one memory, oldest event first."""
    statement = (
        select(history)
        .where(history.c.agent_id == agent_id, history.c.memory_id == memory_id)
        .order_by(history.c.sequence)
    )
    fields = HistoryEntry.model_fields
    return [
        HistoryEntry(**{name: row[name] for name in fields})
        for row in connection.execute(statement).mappings()
    ]


def vector_of(connection: Connection, agent_id: str, memory_id: str) -> tuple[str, Any] | None:
    """The embedder's name and the vector of one memory, when it has one."""
    statement = (
        select(embeddings.c.embedder, embeddings.c.vector)
        .join(memories, memories.c.row_id == embeddings.c.row_id)
        .where(memories.c.agent_id == agent_id, memories.c.memory_id == memory_id)
    )
    row = connection.execute(statement).first()
    return None if row is None else (row[0], row[1])
