"""The rows of an erasure: one transaction each, counted by table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Delete, delete, select, update

from waypost.model import LinkKind
from waypost.store import memories as repository
from waypost.store.memories import chunks
from waypost.store.tables import (
    AGENT_TABLES,
    compression_cache,
    content_blobs,
    content_items,
    embedding_cache,
    error_records,
    history,
    idempotency_keys,
    jobs,
    links,
    memories,
    metadata,
    stages,
    tasks,
)


@dataclass
class Erased:
    """Rows deleted by table, and summaries that were rewritten."""

    rows: dict[str, int] = field(default_factory=dict)
    summaries: int = 0

    def count(self, connection: Connection, statement: Delete) -> None:
        name = str(getattr(statement.table, "name", "rows"))
        self.rows[name] = self.rows.get(name, 0) + connection.execute(statement).rowcount


def erase_agent_rows(connection: Connection, agent_id: str) -> dict[str, int]:
    """Delete every row of the agent in every table that has agents, children first."""
    erased = Erased()
    for table in reversed(metadata.sorted_tables):
        if table.name in AGENT_TABLES:
            erased.count(connection, delete(table).where(table.c.agent_id == agent_id))
    return {name: count for name, count in sorted(erased.rows.items()) if count}


def ids_of_source(
    connection: Connection, agent_id: str, source: str, known: Sequence[str]
) -> set[str]:
    """The memories of a source, and what was derived from them or from ``known``."""
    own = select(memories.c.memory_id).where(
        memories.c.agent_id == agent_id, memories.c.source == source
    )
    found = set(connection.execute(own).scalars())
    frontier = found | set(known)
    while frontier:
        children = _children(connection, agent_id, sorted(frontier))
        frontier = children - found - set(known)
        found |= frontier
    return found


def _children(connection: Connection, agent_id: str, ids: Sequence[str]) -> set[str]:
    children: set[str] = set()
    for part in chunks(ids):
        statement = select(links.c.source_id).where(
            links.c.agent_id == agent_id,
            links.c.kind == LinkKind.PARENT.value,
            links.c.target_id.in_(part),
        )
        children.update(connection.execute(statement).scalars())
    return children


def erase_memories(
    connection: Connection, agent_id: str, ids: Sequence[str], source: str, now: datetime
) -> Erased:
    """Delete these memories and every trace of their text that can be named."""
    erased = Erased()
    _erase_traces(connection, agent_id, ids, erased)
    removed = repository.remove(connection, agent_id, ids, now=now, operation="erase")
    erased.rows["memories"] = removed
    _erase_caches(connection, agent_id, erased)
    _erase_content(connection, agent_id, source, erased)
    touched = _rewrite_stages(connection, agent_id, set(ids), now)
    erased.summaries = len(touched) + _rewrite_tasks(connection, agent_id, set(ids), touched, now)
    erased.rows = {name: count for name, count in sorted(erased.rows.items()) if count}
    return erased


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
    keys = select(idempotency_keys.c.key, idempotency_keys.c.memory_ids).where(
        idempotency_keys.c.agent_id == agent_id
    )
    gone = set(ids)
    doomed = [key for key, held in connection.execute(keys) if gone & set(held)]
    for part in chunks(doomed):
        owned = idempotency_keys.c.agent_id == agent_id
        erased.count(
            connection, delete(idempotency_keys).where(owned, idempotency_keys.c.key.in_(part))
        )


def _erase_caches(connection: Connection, agent_id: str, erased: Erased) -> None:
    """Caches are keyed by digests, so what is whose cannot be told: all of them go."""
    for table in (embedding_cache, compression_cache):
        erased.count(connection, delete(table).where(table.c.agent_id == agent_id))


def _erase_content(connection: Connection, agent_id: str, source: str, erased: Erased) -> None:
    """Content items of the source, and blobs that no item refers to any more."""
    owned = content_items.c.agent_id == agent_id
    erased.count(connection, delete(content_items).where(owned, content_items.c.source == source))
    held = select(content_items.c.digest).where(owned)
    erased.count(
        connection,
        delete(content_blobs).where(
            content_blobs.c.agent_id == agent_id, content_blobs.c.digest.not_in(held)
        ),
    )


def _rewrite_stages(
    connection: Connection, agent_id: str, gone: set[str], now: datetime
) -> set[str]:
    """Take out the summary lines that rest on erased memories; the stages that changed."""
    touched = set()
    statement = select(stages).where(stages.c.agent_id == agent_id)
    for row in connection.execute(statement).mappings().all():
        if not _quotes(row, gone) and not gone & set(row["raw_memory_refs"]):
            continue
        lines = _kept_lines(row["summary_lines"], gone)
        connection.execute(
            update(stages)
            .where(stages.c.agent_id == agent_id, stages.c.stage_id == row["stage_id"])
            .values(
                summary_lines=lines,
                stage_summary="\n".join(line["text"] for line in lines),
                # Insights and critical items are plain sentences without sources.
                stage_insights=[],
                critical_items=[],
                raw_memory_refs=[ref for ref in row["raw_memory_refs"] if ref not in gone],
                updated_at=now,
            )
        )
        touched.add(row["stage_id"])
    return touched


def _rewrite_tasks(
    connection: Connection, agent_id: str, gone: set[str], stage_ids: set[str], now: datetime
) -> int:
    changed = 0
    statement = select(tasks).where(tasks.c.agent_id == agent_id)
    task_ids = _tasks_of(connection, agent_id, stage_ids)
    for row in connection.execute(statement).mappings().all():
        if row["task_id"] not in task_ids and not _quotes(row, gone | stage_ids):
            continue
        lines = _kept_lines(row["summary_lines"], gone | stage_ids)
        connection.execute(
            update(tasks)
            .where(tasks.c.agent_id == agent_id, tasks.c.task_id == row["task_id"])
            .values(
                summary_lines=lines,
                task_progress_summary="\n".join(line["text"] for line in lines),
                updated_at=now,
            )
        )
        changed += 1
    return changed


def _tasks_of(connection: Connection, agent_id: str, stage_ids: set[str]) -> set[str]:
    found: set[str] = set()
    for part in chunks(sorted(stage_ids)):
        statement = select(stages.c.task_id).where(
            stages.c.agent_id == agent_id, stages.c.stage_id.in_(part)
        )
        found.update(connection.execute(statement).scalars())
    return found


def _quotes(row: Any, gone: set[str]) -> bool:
    return any(gone & set(line["source_ids"]) for line in row["summary_lines"])


def _kept_lines(lines: Sequence[dict[str, Any]], gone: set[str]) -> list[dict[str, Any]]:
    return [line for line in lines if not gone & set(line["source_ids"])]
