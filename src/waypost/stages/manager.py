"""StageManager: the life of a stage, from opening to the summary above it.

One stage of a task is open at a time; a completed one is never reopened or added to. Completing
reads the stage's memories, compresses them outside any transaction, and writes summary, metric and
the task's state in one. Killed before that, the stage is still open and completing again gives the
same result; killed after, completing again returns what was written. A memory that arrives while
the stage is being compressed is seen and compressed too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection

from waypost.exceptions import Conflict, StageClosed
from waypost.model import (
    CompressionMetric,
    LinkKind,
    MemoryRecord,
    StageMemory,
    StageType,
    TaskStatus,
    Trust,
    utc_now,
)
from waypost.stages.compressor import Compression, ContextCompressor
from waypost.store import compressions, hierarchy
from waypost.store.database import Database

_ATTEMPTS = 10

T = TypeVar("T")


class StageManager:
    """The stages of one agent's tasks."""

    def __init__(
        self,
        database: Database,
        agent_id: str,
        compressor: ContextCompressor,
        *,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._database = database
        self._agent_id = agent_id
        self._compressor = compressor
        self._clock = clock

    async def create_stage(self, task_id: str, stage_type: StageType | str) -> StageMemory:
        """Open a stage. The same type again returns the open one; another type is a Conflict."""
        wanted = StageType(stage_type)
        return await self._write(_create, task_id, wanted, self._clock())

    async def add_to_stage(self, stage_id: str, memory_id: str) -> None:
        """Put a memory that has no stage yet into an open one."""
        await self._write(_add, stage_id, memory_id)

    async def complete_stage(self, stage_id: str) -> StageMemory:
        """Compress a stage and close it; a stage that is completed already is returned as it is."""
        for _ in range(_ATTEMPTS):
            stage, memories = await self._read(_open_with_memories, stage_id)
            if not stage.is_open:
                return stage
            found = await self._compressor.compress_stage(own_words(memories), stage.stage_type)
            completed = _completed(stage, memories, found, self._clock())
            place: dict[str, Any] = {"task_id": stage.task_id, "stage_id": stage.stage_id}
            metric = self._compressor.metric(found, "stage", **place)
            if (written := await self._write(_close, completed, metric)) is not None:
                return written
        raise Conflict(
            f"stage {stage_id} kept growing while it was being completed; try again when the "
            "agent has stopped writing to it",
            stage_id=stage_id,
        )

    async def get_stage(self, stage_id: str) -> StageMemory:
        return await self._read(hierarchy.get_stage, stage_id)

    async def get_stage_summary(self, stage_id: str) -> str:
        """The summary of a completed stage; empty while it is open."""
        return (await self.get_stage(stage_id)).stage_summary

    async def get_stage_memories(self, stage_id: str) -> list[MemoryRecord]:
        """The memories of a stage in the order they happened."""
        await self.get_stage(stage_id)
        return await self._read(hierarchy.memories_of_stage, stage_id)

    async def current_stage(self, task_id: str) -> StageMemory | None:
        return await self._read(hierarchy.current_stage, task_id)

    async def list_stages(self, task_id: str) -> list[StageMemory]:
        """The stages of a task in the order they were opened."""
        return await self._read(hierarchy.stages_of, task_id)

    async def _read(self, work: Callable[..., T], *args: Any) -> T:
        return await self._database.read(work, self._agent_id, *args, agent=self._agent_id)

    async def _write(self, work: Callable[..., T], *args: Any) -> T:
        return await self._database.write(work, self._agent_id, *args, agent=self._agent_id)


def own_words(memories: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """The memories that say something of their own: not what was derived from another of them."""
    ids = {memory.memory_id for memory in memories}
    return [memory for memory in memories if memory.is_critical or not _derived_from(memory, ids)]


def _derived_from(memory: MemoryRecord, ids: set[str]) -> bool:
    return any(link.kind is LinkKind.PARENT and link.target_id in ids for link in memory.links)


def _create(
    connection: Connection, agent_id: str, task_id: str, stage_type: StageType, now: datetime
) -> StageMemory:
    task = hierarchy.get_task(connection, agent_id, task_id, lock=True)
    if task.status is not TaskStatus.OPEN:
        raise Conflict(f"task {task_id!r} is {task.status}; start another task", task_id=task_id)
    current = hierarchy.current_stage(connection, agent_id, task_id)
    if current is None:
        return hierarchy.open_stage(connection, agent_id, task_id, stage_type, now)
    if current.stage_type is stage_type:
        return current
    raise Conflict(
        f"the {current.stage_type} stage {current.stage_id} of task {task_id!r} is open; complete "
        f"it before starting {stage_type}",
        stage_id=current.stage_id,
    )


def _add(connection: Connection, agent_id: str, stage_id: str, memory_id: str) -> None:
    stage = hierarchy.get_stage(connection, agent_id, stage_id)
    if not stage.is_open:
        raise StageClosed(
            f"stage {stage_id} is completed and takes no more memories; start a new stage",
            stage_id=stage_id,
        )
    hierarchy.move_memory(connection, agent_id, memory_id, stage)


def _open_with_memories(
    connection: Connection, agent_id: str, stage_id: str
) -> tuple[StageMemory, list[MemoryRecord]]:
    stage = hierarchy.get_stage(connection, agent_id, stage_id)
    if not stage.is_open:
        return stage, []
    return stage, hierarchy.memories_of_stage(connection, agent_id, stage_id)


def _completed(
    stage: StageMemory, memories: Sequence[MemoryRecord], found: Compression, now: datetime
) -> StageMemory:
    return stage.model_copy(
        update={
            "stage_summary": found.text,
            "summary_lines": found.lines,
            "stage_insights": found.insights,
            "critical_items": found.critical_items,
            "raw_memory_refs": tuple(memory.memory_id for memory in memories),
            "trust": Trust.lowest([memory.trust for memory in memories]),
            "original_tokens": found.original_tokens,
            "compressed_tokens": found.compressed_tokens,
            "compression_ratio": found.ratio,
            "information_retention": found.retention,
            "compression_model": found.model,
            "fallback_reason": found.fallback_reason,
            "updated_at": now,
            "completed_at": now,
        }
    )


def _close(
    connection: Connection, agent_id: str, completed: StageMemory, metric: CompressionMetric
) -> StageMemory | None:
    """Write a completed stage; None when memories came in since they were read."""
    stored = hierarchy.get_stage(connection, agent_id, completed.stage_id, lock=True)
    if not stored.is_open:
        return stored
    present = hierarchy.memory_ids_of_stage(connection, agent_id, completed.stage_id)
    if tuple(present) != completed.raw_memory_refs:
        return None
    hierarchy.save_stage(connection, completed)
    values = {"current_stage_id": None, "updated_at": completed.updated_at}
    hierarchy.update_task(connection, agent_id, completed.task_id, values)
    compressions.add_metric(connection, metric)
    return completed
