"""Taking erased memories out of the summaries that were made from them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from waypost.store.memories import chunks
from waypost.store.tables import stages, tasks


def rewrite_summaries(connection: Connection, agent_id: str, gone: set[str], now: datetime) -> int:
    """Drop every line that rests on an erased memory; how many stages and tasks changed."""
    touched = _rewrite_stages(connection, agent_id, gone, now)
    return len(touched) + _rewrite_tasks(connection, agent_id, gone, touched, now)


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
