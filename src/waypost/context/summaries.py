"""Summaries that stand above memories: of their stage, and above that of their task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, RowMapping, select

from waypost.context.candidates import StandIn
from waypost.model import MemoryRecord
from waypost.model.context import Form
from waypost.model.vocabulary import Trust
from waypost.store.tables import stages, tasks


@dataclass(frozen=True)
class Summaries:
    """The summaries above some memories, by stage and by task."""

    of_stages: Mapping[str, StandIn] = field(default_factory=dict)
    of_tasks: Mapping[str, StandIn] = field(default_factory=dict)

    def above(self, memory: MemoryRecord) -> tuple[StandIn, ...]:
        """What may stand for a memory that finds no room, the nearest first."""
        found = (
            self.of_stages.get(memory.stage_id or ""),
            self.of_tasks.get(memory.task_id or ""),
        )
        return tuple(one for one in found if one is not None)


def load_summaries(
    connection: Connection, agent_id: str, shown: Sequence[MemoryRecord], task_id: str | None
) -> Summaries:
    """The summaries above these memories. The summary of ``task_id`` itself is shown anyway."""
    stage_ids = {memory.stage_id for memory in shown if memory.stage_id is not None}
    if not stage_ids:
        return Summaries()
    found = connection.execute(
        select(stages).where(stages.c.agent_id == agent_id, stages.c.stage_id.in_(stage_ids))
    ).mappings()
    of_stages = [_of_stage(row) for row in found if row["stage_summary"]]
    trust = _lowest(of_stages)
    task_ids = {memory.task_id for memory in shown if memory.stage_id is not None}
    rows = connection.execute(
        select(tasks).where(
            tasks.c.agent_id == agent_id, tasks.c.task_id.in_(task_ids - {None, task_id})
        )
    ).mappings()
    return Summaries(
        {one.entry_id: one for one in of_stages},
        {row["task_id"]: _of_task(row, trust) for row in rows if row["task_progress_summary"]},
    )


def _of_stage(row: RowMapping) -> StandIn:
    return StandIn(
        entry_id=row["stage_id"],
        form=Form.STAGE_SUMMARY,
        text=f"Summary of the {row['stage_type']} stage: {row['stage_summary']}",
        timestamp=row["created_at"],
        trust=Trust(row["trust"]),
    )


def _of_task(row: RowMapping, trust: Trust) -> StandIn:
    return StandIn(
        entry_id=f"task {row['task_id']}",
        form=Form.TASK_SUMMARY,
        text=f"Summary of the task {row['task_goal']!r}: {row['task_progress_summary']}",
        timestamp=row["created_at"],
        trust=trust,
    )


def _lowest(summaries: Sequence[StandIn]) -> Trust:
    """A summary of summaries is trusted no more than the least of them."""
    return min((one.trust for one in summaries), key=lambda trust: trust.rank, default=Trust.LOW)
