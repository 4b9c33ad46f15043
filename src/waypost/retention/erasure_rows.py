"""The rows of an erasure: one transaction each, counted by table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Connection, Delete, Table, delete, select

from waypost.model.jobs import JobKind
from waypost.retention.archived_sources import DERIVING
from waypost.retention.erasure_runs import Doomed, erase_quoting_runs
from waypost.retention.erasure_summaries import rewrite_summaries
from waypost.store import memories as repository
from waypost.store.memories import chunks
from waypost.store.tables import (
    AGENT_TABLES,
    compression_cache,
    content_items,
    embedding_cache,
    error_records,
    history,
    idempotency_keys,
    jobs,
    links,
    memories,
    metadata,
)

ERASE = JobKind.ERASE.value


@dataclass
class Erased:
    """Rows deleted by table, and what was changed because of it."""

    rows: dict[str, int] = field(default_factory=dict)
    summaries: int = 0
    runs: int = 0
    reopened: int = 0

    def count(self, connection: Connection, statement: Delete) -> None:
        name = str(getattr(statement.table, "name", "rows"))
        self.rows[name] = self.rows.get(name, 0) + connection.execute(statement).rowcount


def erase_agent_rows(connection: Connection, agent_id: str) -> dict[str, int]:
    """Delete every row of the agent in every table that has agents, children first."""
    erased = Erased()
    for table in reversed(metadata.sorted_tables):
        if table.name in AGENT_TABLES:
            own = delete(table).where(table.c.agent_id == agent_id)
            # The job that erases, if this is one, must live until all of it is done.
            erased.count(connection, own.where(jobs.c.kind != ERASE) if table is jobs else own)
    return {name: count for name, count in sorted(erased.rows.items()) if count}


def ids_of_source(
    connection: Connection, agent_id: str, source: str, known: Sequence[str]
) -> tuple[set[str], set[str]]:
    """The memories of a source and what was derived from them, and the source's content items.

    Derived is what has a parent among them or among ``known``, or cites such content.
    """
    items = _of_source(connection, agent_id, source, content_items, content_items.c.content_id)
    found = _of_source(connection, agent_id, source, memories, memories.c.memory_id)
    frontier = found | set(known) | items
    while frontier:
        children = _made_from(connection, agent_id, sorted(frontier))
        frontier = children - found - set(known)
        found |= frontier
    return found, items


def _of_source(
    connection: Connection, agent_id: str, source: str, table: Table, column: Column[Any]
) -> set[str]:
    statement = select(column).where(table.c.agent_id == agent_id, table.c.source == source)
    return set(connection.execute(statement).scalars())


def _made_from(connection: Connection, agent_id: str, ids: Sequence[str]) -> set[str]:
    children: set[str] = set()
    for part in chunks(ids):
        statement = select(links.c.source_id).where(
            links.c.agent_id == agent_id,
            links.c.kind.in_(DERIVING),
            links.c.target_id.in_(part),
        )
        children.update(connection.execute(statement).scalars())
    return children


def erase_memories(connection: Connection, agent_id: str, doomed: Doomed, now: datetime) -> Erased:
    """Delete these memories and every trace of their text that can be found."""
    erased, ids = Erased(), doomed.ids
    erased.reopened = _reopen(connection, agent_id, set(ids), now)
    erased.runs = erase_quoting_runs(connection, agent_id, doomed, erased.rows, now)
    _erase_traces(connection, agent_id, ids, erased)
    erased.rows["memories"] = repository.remove(
        connection, agent_id, ids, now=now, operation="erase"
    )
    _erase_caches(connection, agent_id, erased)
    erased.summaries = rewrite_summaries(connection, agent_id, set(ids), now)
    erased.rows = {name: count for name, count in sorted(erased.rows.items()) if count}
    return erased


def _reopen(connection: Connection, agent_id: str, gone: set[str], now: datetime) -> int:
    """Let facts hold again that only erased memories had replaced; how many there were."""
    replaced_by = _replacements(connection, agent_id)
    reopened = 0
    for memory_id, successor in sorted(replaced_by.items()):
        if memory_id in gone or successor not in gone:
            continue
        heir: str | None = successor
        while heir in gone:
            heir = replaced_by.get(heir)
        values: dict[str, Any] = {"superseded_by": heir}
        if heir is None:
            values["valid_to"] = None
            reopened += 1
        repository.change(connection, agent_id, memory_id, values, now=now, operation="reopen")
    return reopened


def _replacements(connection: Connection, agent_id: str) -> dict[str, str]:
    statement = select(memories.c.memory_id, memories.c.superseded_by).where(
        memories.c.agent_id == agent_id, memories.c.superseded_by.is_not(None)
    )
    return {row.memory_id: row.superseded_by for row in connection.execute(statement)}


def _erase_traces(
    connection: Connection, agent_id: str, ids: Sequence[str], erased: Erased
) -> None:
    for part in chunks(ids):
        for table, column in (
            (history, history.c.memory_id),
            (jobs, jobs.c.subject),
            (error_records, error_records.c.memory_id),
        ):
            owned = table.c.agent_id == agent_id
            erased.count(connection, delete(table).where(owned, column.in_(part)))
    owned = idempotency_keys.c.agent_id == agent_id
    for part in chunks(_keys_of(connection, agent_id, set(ids))):
        erased.count(
            connection, delete(idempotency_keys).where(owned, idempotency_keys.c.key.in_(part))
        )


def _keys_of(connection: Connection, agent_id: str, gone: set[str]) -> list[str]:
    statement = select(idempotency_keys.c.key, idempotency_keys.c.memory_ids).where(
        idempotency_keys.c.agent_id == agent_id
    )
    return [key for key, held in connection.execute(statement) if gone & set(held)]


def _erase_caches(connection: Connection, agent_id: str, erased: Erased) -> None:
    """Caches are keyed by digests, so what is whose cannot be told: all of them go."""
    for table in (embedding_cache, compression_cache):
        erased.count(connection, delete(table).where(table.c.agent_id == agent_id))
