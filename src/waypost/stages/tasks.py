"""TaskManager: tasks from goal to outcome, and the way down from every line of their summaries.

A task's progress summary is built from the summaries of its completed stages only, and is written
again each time one is completed. Its lines cite memories, so any of them can be expanded to the
stage, the memories and the content items it came from; and any memory can be followed up to the
lines that rest on it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection

from waypost.exceptions import Conflict, InvalidInput, NotFound
from waypost.model import (
    CompressionMetric,
    ErrorPattern,
    MemoryPlace,
    SourceTrail,
    StageContext,
    StageMemory,
    StageType,
    TaskContext,
    TaskProgress,
    TaskStatus,
    TaskTree,
    new_id,
    utc_now,
)
from waypost.stages import views
from waypost.stages.brief import build_brief
from waypost.stages.compressor import Compression, ContextCompressor
from waypost.stages.manager import StageManager
from waypost.stages.performance import performance
from waypost.store import compressions, hierarchy
from waypost.store import errors as error_rows
from waypost.store.database import Database

T = TypeVar("T")
OpenPatterns = Callable[[str], Awaitable[Sequence[ErrorPattern]]]


class TaskManager:
    """The tasks of one agent."""

    def __init__(
        self,
        database: Database,
        agent_id: str,
        stages: StageManager,
        compressor: ContextCompressor,
        *,
        open_patterns: OpenPatterns,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._database = database
        self._agent_id = agent_id
        self._stages = stages
        self._compressor = compressor
        self._open_patterns = open_patterns
        self._clock = clock

    async def start(
        self,
        goal: str,
        *,
        task_id: str | None = None,
        constraints: Sequence[str] = (),
        project_id: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> TaskContext:
        """Begin a task. The same id with the same goal returns the task that is there."""
        if not goal.strip():
            raise InvalidInput("the goal is empty; say in a sentence what the task is for")
        now = self._clock()
        task = TaskContext(
            task_id=task_id or new_id(),
            agent_id=self._agent_id,
            project_id=project_id,
            task_goal=goal,
            critical_constraints=tuple(constraints),
            metadata=metadata or {},
            created_at=now,
            updated_at=now,
        )
        return await self._write(_start, task)

    async def complete_stage(self, task_id: str, stage_id: str | None = None) -> StageMemory:
        """Complete a stage (the open one by default) and bring the task's summary up to date."""
        stage = await self.stage_to_complete(task_id, stage_id)
        completed = await self._stages.complete_stage(stage.stage_id)
        await self._summarise(task_id)
        return completed

    async def stage_to_complete(self, task_id: str, stage_id: str | None = None) -> StageMemory:
        """The stage that completing would complete: the one named, else the open one."""
        return await self._read(_stage_to_complete, task_id, stage_id)

    async def complete(
        self,
        task_id: str,
        outcome: str | None = None,
        status: TaskStatus | str = TaskStatus.COMPLETED,
    ) -> TaskContext:
        """End a task: complete its open stage, write its summary, record how it ended.

        Ending a task again with the same status returns it as it is.
        """
        ending = TaskStatus(status)
        if ending is TaskStatus.OPEN:
            raise InvalidInput("a task ends as completed, failed or abandoned, not open")
        task = await self.get(task_id)
        if task.status is not TaskStatus.OPEN:
            if task.status is ending:
                return task
            raise Conflict(f"task {task_id!r} is {task.status} already", task_id=task_id)
        current = await self._stages.current_stage(task_id)
        if current is not None:
            await self._stages.complete_stage(current.stage_id)
        await self._summarise(task_id)
        return await self._write(_end, task_id, ending, outcome, self._clock())

    async def get(self, task_id: str) -> TaskContext:
        return await self._read(hierarchy.get_task, task_id)

    async def list_tasks(self, limit: int = 100) -> list[TaskContext]:
        """The agent's tasks, newest first."""
        return await self._read(hierarchy.list_tasks, limit)

    async def progress(self, task_id: str) -> TaskProgress:
        """How far a task has come, with the six-section brief."""
        task, stages = await self._read(_state, task_id)
        patterns = await self._open_patterns(task_id)
        current = next((stage for stage in stages if stage.is_open), None)
        return TaskProgress(
            task_id=task.task_id,
            task_goal=task.task_goal,
            status=task.status,
            outcome=task.outcome,
            task_progress_summary=task.task_progress_summary,
            summary_lines=task.summary_lines,
            brief=build_brief(task, stages, patterns),
            current_stage=current.stage_type if current else None,
            current_stage_id=current.stage_id if current else None,
            completed_stages=tuple(stage.stage_type for stage in stages if not stage.is_open),
            stages=tuple(stages),
            critical_constraints=task.critical_constraints,
            performance_metrics=task.performance_metrics,
        )

    async def stage_context(
        self, task_id: str, current_stage: StageType | str | None = None
    ) -> StageContext:
        """What matters in a stage: its summary, its best memories, its latest errors.

        Without ``current_stage`` it is the open stage, else the last completed one.
        """
        wanted = None if current_stage is None else StageType(current_stage)
        return await self._read(views.stage_context, task_id, wanted)

    async def tree(self, task_id: str) -> TaskTree:
        """A task from its goal down: stages, summary lines, memories, content ids."""
        return await self._read(views.tree, task_id)

    async def expand(self, task_id: str, text: str) -> SourceTrail:
        """Follow one line of a task's or stage's summary down to what it came from."""
        return await self._read(views.expand, task_id, text)

    async def place_of(self, memory_id: str) -> MemoryPlace:
        """Follow a memory up to its stage, its task and the lines that rest on it."""
        return await self._read(views.place_of, memory_id)

    async def costs(self, task_id: str | None = None) -> dict[str, float]:
        """What compression cost for a task or the agent, against the reasoning model, in USD."""
        return await self._read(compressions.spent, task_id)

    async def metrics(self, task_id: str | None = None) -> list[CompressionMetric]:
        return await self._read(compressions.metrics, task_id)

    async def _summarise(self, task_id: str) -> None:
        """Write the task's summary from its completed stages; the same stages, the same text."""
        task, stages = await self._read(_state, task_id)
        done = [stage for stage in stages if not stage.is_open]
        if not done:
            return
        found = await self._compressor.compress_task(done, task.task_goal)
        metric = self._compressor.metric(found, "task", task_id=task_id)
        await self._write(_save_summary, task_id, found, metric, self._clock())

    async def _read(self, work: Callable[..., T], *args: Any) -> T:
        return await self._database.read(work, self._agent_id, *args, agent=self._agent_id)

    async def _write(self, work: Callable[..., T], *args: Any) -> T:
        return await self._database.write(work, self._agent_id, *args, agent=self._agent_id)


def _start(connection: Connection, agent_id: str, task: TaskContext) -> TaskContext:
    known = hierarchy.find_task(connection, agent_id, task.task_id)
    if known is None:
        hierarchy.insert_task(connection, task)
        return task
    if known.task_goal != task.task_goal:
        raise Conflict(
            f"task {task.task_id!r} exists with another goal: {known.task_goal!r}; use a new id",
            task_id=task.task_id,
        )
    return known


def _stage_to_complete(
    connection: Connection, agent_id: str, task_id: str, stage_id: str | None
) -> StageMemory:
    hierarchy.get_task(connection, agent_id, task_id)
    if stage_id is None:
        current = hierarchy.current_stage(connection, agent_id, task_id)
        if current is None:
            raise NotFound(f"task {task_id!r} has no open stage to complete", task_id=task_id)
        return current
    stage = hierarchy.get_stage(connection, agent_id, stage_id)
    if stage.task_id != task_id:
        raise NotFound(f"stage {stage_id} is not one of task {task_id!r}", stage_id=stage_id)
    return stage


def _state(
    connection: Connection, agent_id: str, task_id: str
) -> tuple[TaskContext, list[StageMemory]]:
    task = hierarchy.get_task(connection, agent_id, task_id)
    return task, hierarchy.stages_of(connection, agent_id, task_id)


def _save_summary(
    connection: Connection,
    agent_id: str,
    task_id: str,
    found: Compression,
    metric: CompressionMetric,
    now: datetime,
) -> None:
    task = hierarchy.get_task(connection, agent_id, task_id, lock=True)
    stages = hierarchy.stages_of(connection, agent_id, task_id)
    errors = error_rows.of_task(connection, agent_id, task_id)
    spent = compressions.spent(connection, agent_id, task_id)
    values = {
        "task_progress_summary": found.text,
        "summary_lines": [line.model_dump(mode="json") for line in found.lines],
        "performance_metrics": {
            **task.performance_metrics,
            **performance(stages, errors, spent, found),
        },
        "updated_at": now,
    }
    hierarchy.update_task(connection, agent_id, task_id, values)
    if task.task_progress_summary != found.text:
        compressions.add_metric(connection, metric)


def _end(
    connection: Connection,
    agent_id: str,
    task_id: str,
    status: TaskStatus,
    outcome: str | None,
    now: datetime,
) -> TaskContext:
    values = {"status": status.value, "outcome": outcome, "updated_at": now, "completed_at": now}
    hierarchy.update_task(connection, agent_id, task_id, values)
    return hierarchy.get_task(connection, agent_id, task_id)
