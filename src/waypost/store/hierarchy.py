"""Rows of tasks and stages. Every function names the agent it acts for.

Writing a memory of an open task places it in that task's open stage and opens one when there is
none (``place``), inside the same transaction. A completed stage takes no more memories.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, insert, select, update

from waypost.exceptions import Conflict, NotFound, StageClosed
from waypost.model import MemoryRecord, StageMemory, StageType, TaskContext, TaskStatus, new_id
from waypost.store import memories as repository
from waypost.store.tables import memories, stages, tasks

_TIMES = {"created_at", "updated_at", "completed_at"}


def insert_task(connection: Connection, task: TaskContext) -> None:
    connection.execute(
        insert(tasks).values(**task.model_dump(mode="json", exclude=_TIMES), **_times(task))
    )


def get_task(
    connection: Connection, agent_id: str, task_id: str, *, lock: bool = False
) -> TaskContext:
    """The task, or NotFound: also when it is another agent's. ``lock`` holds off other changes."""
    found = find_task(connection, agent_id, task_id, lock=lock)
    if found is None:
        raise NotFound(
            f"no task {task_id!r} for agent {agent_id!r}; start it with start_task", task_id=task_id
        )
    return found


def find_task(
    connection: Connection, agent_id: str, task_id: str, *, lock: bool = False
) -> TaskContext | None:
    statement = select(tasks).where(tasks.c.agent_id == agent_id, tasks.c.task_id == task_id)
    if lock:
        statement = statement.with_for_update()
    row = connection.execute(statement).mappings().first()
    return None if row is None else TaskContext.model_validate(dict(row))


def list_tasks(connection: Connection, agent_id: str, limit: int = 100) -> list[TaskContext]:
    """The agent's tasks, newest first."""
    statement = (
        select(tasks)
        .where(tasks.c.agent_id == agent_id)
        .order_by(tasks.c.created_at.desc(), tasks.c.task_id)
        .limit(limit)
    )
    return [
        TaskContext.model_validate(dict(row)) for row in connection.execute(statement).mappings()
    ]


def update_task(
    connection: Connection, agent_id: str, task_id: str, values: Mapping[str, Any]
) -> None:
    connection.execute(
        update(tasks)
        .where(tasks.c.agent_id == agent_id, tasks.c.task_id == task_id)
        .values(**values)
    )


def open_stage(
    connection: Connection, agent_id: str, task_id: str, stage_type: StageType, now: datetime
) -> StageMemory:
    """Insert an open stage and make it the task's current one."""
    stage = StageMemory(
        stage_id=new_id(),
        task_id=task_id,
        agent_id=agent_id,
        stage_type=stage_type,
        created_at=now,
        updated_at=now,
    )
    connection.execute(insert(stages).values(**_stage_row(stage)))
    update_task(
        connection, agent_id, task_id, {"current_stage_id": stage.stage_id, "updated_at": now}
    )
    return stage


def save_stage(connection: Connection, stage: StageMemory) -> None:
    connection.execute(
        update(stages)
        .where(stages.c.agent_id == stage.agent_id, stages.c.stage_id == stage.stage_id)
        .values(**_stage_row(stage))
    )


def get_stage(
    connection: Connection, agent_id: str, stage_id: str, *, lock: bool = False
) -> StageMemory:
    """The stage, or NotFound. ``lock`` waits for writes to it and holds off new ones."""
    statement = select(stages).where(stages.c.agent_id == agent_id, stages.c.stage_id == stage_id)
    if lock:
        statement = statement.with_for_update()
    row = connection.execute(statement).mappings().first()
    if row is None:
        raise NotFound(f"no stage {stage_id} for agent {agent_id!r}", stage_id=stage_id)
    return _stage(row)


def stages_of(connection: Connection, agent_id: str, task_id: str) -> list[StageMemory]:
    """The stages of a task in the order they were opened."""
    statement = (
        select(stages)
        .where(stages.c.agent_id == agent_id, stages.c.task_id == task_id)
        .order_by(stages.c.created_at, stages.c.stage_id)
    )
    return [_stage(row) for row in connection.execute(statement).mappings()]


def current_stage(connection: Connection, agent_id: str, task_id: str) -> StageMemory | None:
    statement = select(stages).where(
        stages.c.agent_id == agent_id,
        stages.c.task_id == task_id,
        stages.c.completed_at.is_(None),
    )
    row = connection.execute(statement).mappings().first()
    return None if row is None else _stage(row)


def memories_of_stage(connection: Connection, agent_id: str, stage_id: str) -> list[MemoryRecord]:
    """The memories of a stage in the order they happened."""
    statement = (
        repository.rows_of(agent_id)
        .where(memories.c.stage_id == stage_id)
        .order_by(memories.c.timestamp, memories.c.row_id)
    )
    rows = connection.execute(statement).mappings().all()
    return repository.with_links(connection, agent_id, rows)


def memory_ids_of_stage(connection: Connection, agent_id: str, stage_id: str) -> list[str]:
    statement = (
        select(memories.c.memory_id)
        .where(memories.c.agent_id == agent_id, memories.c.stage_id == stage_id)
        .order_by(memories.c.timestamp, memories.c.row_id)
    )
    return list(connection.execute(statement).scalars())


def place(
    connection: Connection, agent_id: str, task_ids: Collection[str], now: datetime
) -> dict[str, str]:
    """The open stage of each task; an open task without one gets an execution stage.

    The stages stay shared-locked until the memories are in, so none is completed without them.
    """
    statement = select(stages.c.task_id, stages.c.stage_id).where(
        stages.c.agent_id == agent_id,
        stages.c.task_id.in_(task_ids),
        stages.c.completed_at.is_(None),
    )
    rows = connection.execute(statement.with_for_update(read=True))
    found = {row.task_id: row.stage_id for row in rows}
    for task_id in _without_stage(connection, agent_id, set(task_ids) - set(found)):
        # Another writer may have opened one while this one waited for the task's row.
        stage = current_stage(connection, agent_id, task_id) or open_stage(
            connection, agent_id, task_id, StageType.EXECUTION, now
        )
        found[task_id] = stage.stage_id
    return found


def _without_stage(connection: Connection, agent_id: str, task_ids: set[str]) -> list[str]:
    statement = (
        select(tasks.c.task_id)
        .where(
            tasks.c.agent_id == agent_id,
            tasks.c.task_id.in_(task_ids),
            tasks.c.status == TaskStatus.OPEN.value,
        )
        .order_by(tasks.c.task_id)
        .with_for_update()
    )
    return list(connection.execute(statement).scalars()) if task_ids else []


def refuse_completed(connection: Connection, agent_id: str, stage_ids: Collection[str]) -> None:
    """Raise StageClosed when one of the stages is completed: nothing is added to it any more."""
    statement = select(stages.c.stage_id).where(
        stages.c.agent_id == agent_id,
        stages.c.stage_id.in_(stage_ids),
        stages.c.completed_at.is_not(None),
    )
    closed = connection.execute(statement).scalar()
    if closed is not None:
        raise StageClosed(
            f"stage {closed} is completed and takes no more memories; start a new stage",
            stage_id=closed,
        )


def move_memory(connection: Connection, agent_id: str, memory_id: str, stage: StageMemory) -> None:
    """Put a memory into an open stage; a memory belongs to one stage and stays there."""
    record = repository.get(connection, agent_id, memory_id)
    if record.stage_id not in (None, stage.stage_id):
        raise Conflict(
            f"memory {memory_id} belongs to stage {record.stage_id}; a memory has one stage",
            memory_id=memory_id,
            stage_id=record.stage_id,
        )
    if record.task_id not in (None, stage.task_id):
        raise Conflict(
            f"memory {memory_id} is of task {record.task_id!r}, the stage of {stage.task_id!r}",
            memory_id=memory_id,
        )
    connection.execute(
        update(memories)
        .where(memories.c.agent_id == agent_id, memories.c.memory_id == memory_id)
        .values(stage_id=stage.stage_id, task_id=stage.task_id)
    )


def _times(value: TaskContext | StageMemory) -> dict[str, datetime | None]:
    return {name: getattr(value, name) for name in sorted(_TIMES)}


def _stage_row(stage: StageMemory) -> dict[str, Any]:
    return {**stage.model_dump(mode="json", exclude=_TIMES), **_times(stage)}


def _stage(row: RowMapping) -> StageMemory:
    return StageMemory.model_validate(dict(row))
