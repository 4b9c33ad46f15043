"""Reading the hierarchy: what matters in a stage, down from a line, up from a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from waypost.exceptions import NotFound
from waypost.model import (
    LineBranch,
    LinkKind,
    MemoryLeaf,
    MemoryPlace,
    MemoryRecord,
    SourceTrail,
    StageBranch,
    StageContext,
    StageGlimpse,
    StageMemory,
    StageType,
    SummaryLine,
    TaskTree,
)
from waypost.store import errors as error_rows
from waypost.store import hierarchy
from waypost.store import memories as repository

_GLIMPSES = 10
_RECENT_ERRORS = 5


def stage_context(
    connection: Connection, agent_id: str, task_id: str, wanted: StageType | None
) -> StageContext:
    hierarchy.get_task(connection, agent_id, task_id)
    stages = hierarchy.stages_of(connection, agent_id, task_id)
    matching = [stage for stage in stages if wanted is None or stage.stage_type is wanted]
    errors = error_rows.of_task(connection, agent_id, task_id)
    if not matching:
        return StageContext(
            task_id=task_id,
            stage_id=None,
            stage_type=wanted or StageType.PLANNING,
            stage_summary="",
            recent_errors=tuple(errors[-_RECENT_ERRORS:]),
        )
    stage = matching[-1]
    own = [error for error in errors if error.stage_id == stage.stage_id] or errors
    return StageContext(
        task_id=task_id,
        stage_id=stage.stage_id,
        stage_type=stage.stage_type,
        stage_summary=stage.stage_summary,
        stage_insights=stage.stage_insights,
        relevant_memories=_glimpses(
            hierarchy.memories_of_stage(connection, agent_id, stage.stage_id)
        ),
        recent_errors=tuple(own[-_RECENT_ERRORS:]),
    )


def _glimpses(memories: Sequence[MemoryRecord]) -> tuple[StageGlimpse, ...]:
    """The memories of a stage that matter most: critical first, then important, then new."""
    newest_first = list(reversed(memories))
    ranked = sorted(newest_first, key=lambda memory: (not memory.is_critical, -memory.importance))
    return tuple(
        StageGlimpse(
            memory_id=memory.memory_id,
            summary=memory.summary,
            importance_score=1.0 if memory.is_critical else memory.importance,
        )
        for memory in ranked[:_GLIMPSES]
    )


def expand(connection: Connection, agent_id: str, task_id: str, text: str) -> SourceTrail:
    task = hierarchy.get_task(connection, agent_id, task_id)
    stages = hierarchy.stages_of(connection, agent_id, task_id)
    lines = [*task.summary_lines, *(line for stage in stages for line in stage.summary_lines)]
    line = next((line for line in lines if line.text == text), None)
    if line is None:
        raise NotFound(f"no summary of task {task_id!r} has the line {text!r}", task_id=task_id)
    found = repository.by_ids(connection, agent_id, line.source_ids)
    return trail_of(line, [found[name] for name in line.source_ids if name in found])


def trail_of(line: SummaryLine, memories: Sequence[MemoryRecord]) -> SourceTrail:
    """A line with the memories it rests on and what they cite."""
    return SourceTrail(
        line=line,
        stage_id=memories[0].stage_id if memories else None,
        memories=tuple(memories),
        content_ids=tuple(dict.fromkeys(name for memory in memories for name in cites(memory))),
    )


def tree(connection: Connection, agent_id: str, task_id: str) -> TaskTree:
    """A task with everything below it: stages, lines, memories, content ids."""
    task = hierarchy.get_task(connection, agent_id, task_id)
    stages = hierarchy.stages_of(connection, agent_id, task_id)
    return TaskTree(
        task=task, stages=tuple(_stage_branch(connection, agent_id, stage) for stage in stages)
    )


def _stage_branch(connection: Connection, agent_id: str, stage: StageMemory) -> StageBranch:
    memories = hierarchy.memories_of_stage(connection, agent_id, stage.stage_id)
    leaves = {memory.memory_id: _leaf(memory) for memory in memories}
    return StageBranch(
        stage=stage,
        lines=tuple(_line_branch(line, leaves) for line in stage.summary_lines),
        memory_count=len(memories),
        open_memories=tuple(leaves.values()) if stage.is_open else (),
    )


def _line_branch(line: SummaryLine, leaves: Mapping[str, MemoryLeaf]) -> LineBranch:
    return LineBranch(
        line=line,
        memories=tuple(leaves[name] for name in line.source_ids if name in leaves),
        missing=tuple(name for name in line.source_ids if name not in leaves),
    )


def _leaf(memory: MemoryRecord) -> MemoryLeaf:
    return MemoryLeaf(
        memory_id=memory.memory_id,
        kind=memory.kind,
        summary=memory.summary or memory.content,
        timestamp=memory.timestamp,
        is_critical=memory.is_critical,
        content_ids=tuple(cites(memory)),
    )


def cites(memory: MemoryRecord) -> list[str]:
    """The content items that a memory cites."""
    return [link.target_id for link in memory.links if link.kind is LinkKind.CITES]


def place_of(connection: Connection, agent_id: str, memory_id: str) -> MemoryPlace:
    memory = repository.get(connection, agent_id, memory_id)
    stage = task = None
    if memory.stage_id is not None:
        stage = hierarchy.get_stage(connection, agent_id, memory.stage_id)
    if memory.task_id is not None:
        task = hierarchy.find_task(connection, agent_id, memory.task_id)
    return MemoryPlace(
        memory_id=memory_id,
        stage=stage,
        task=task,
        stage_lines=_resting_on(stage.summary_lines if stage else (), memory_id),
        task_lines=_resting_on(task.summary_lines if task else (), memory_id),
    )


def _resting_on(lines: Sequence[SummaryLine], memory_id: str) -> tuple[SummaryLine, ...]:
    return tuple(line for line in lines if memory_id in line.source_ids)
