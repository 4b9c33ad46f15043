"""Methods that follow a task: its stages, their summaries, and the way back to what happened."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from waypost.memory import MemoryManager
from waypost.model import (
    CallerId,
    ErrorRecord,
    MemoryPlace,
    MintedId,
    SourceTrail,
    StageContext,
    StageMemory,
    StageType,
    TaskContext,
    TaskProgress,
    TaskStatus,
)
from waypost.model.base import Value
from waypost.service.caller import Scope
from waypost.service.rpc import Method, Registry
from waypost.working import WorkingEntry

Words = Annotated[str, StringConstraints(min_length=1, max_length=100_000)]


class StartTaskParams(Value):
    goal: Words
    task_id: CallerId | None = None
    constraints: tuple[Words, ...] = ()
    project_id: CallerId | None = None
    metadata: dict[str, Any] | None = None


class TaskResult(Value):
    success: bool = True
    task_id: CallerId
    task: TaskContext

    @classmethod
    def of(cls, task: TaskContext) -> TaskResult:
        return cls.model_construct(success=True, task_id=task.task_id, task=task)


async def start_task(memory: MemoryManager, params: StartTaskParams) -> TaskResult:
    """Begin a task. The same id with the same goal returns the task that is there."""
    options = {name: value for name, value in vars(params).items() if name != "goal"}
    return TaskResult.of(await memory.start_task(params.goal, **options))


class StartStageParams(Value):
    task_id: CallerId
    stage_type: StageType


class StageResult(Value):
    success: bool = True
    stage_id: MintedId
    stage: StageMemory


async def start_stage(memory: MemoryManager, params: StartStageParams) -> StageResult:
    """Open a stage of a task: planning, execution, reflection or verification.

    One stage of a task is open at a time; memories of the task go into it by themselves.
    """
    stage = await memory.start_stage(params.task_id, params.stage_type)
    return StageResult.model_construct(success=True, stage_id=stage.stage_id, stage=stage)


class CompleteStageParams(Value):
    task_id: CallerId
    stage_id: MintedId | None = None


class CompletedStage(StageMemory):
    """A stage with its summary, and what making the summary cost."""

    cost_usd: float = 0.0


async def complete_stage(memory: MemoryManager, params: CompleteStageParams) -> CompletedStage:
    """Put a summary above a stage (the open one by default) and close it for good.

    Ratio and retention are measured, not promised. Completing it again gives the same summary.
    """
    stage = await memory.complete_stage(params.task_id, params.stage_id)
    metrics = await memory.tasks.metrics(params.task_id)
    cost = sum(metric.cost_usd for metric in metrics if metric.stage_id == stage.stage_id)
    return CompletedStage.model_construct(**vars(stage), cost_usd=cost)


class CompleteTaskParams(Value):
    task_id: CallerId
    outcome: str | None = None
    status: TaskStatus = TaskStatus.COMPLETED


async def complete_task(memory: MemoryManager, params: CompleteTaskParams) -> TaskResult:
    """End a task as completed, failed or abandoned; its open stage is completed first."""
    task = await memory.complete_task(params.task_id, params.outcome, params.status)
    return TaskResult.of(task)


class TaskParams(Value):
    task_id: CallerId


async def get_task_progress(memory: MemoryManager, params: TaskParams) -> TaskProgress:
    """How far a task has come: summary, stages, constraints, figures, and a short brief."""
    return await memory.get_task_progress(params.task_id)


class StageContextParams(Value):
    task_id: CallerId
    current_stage: StageType | None = None


class RecentError(ErrorRecord):
    """An error; description and severity stand under their short names too."""

    description: str
    severity: float


class StageContextResult(StageContext):
    recent_errors: tuple[RecentError, ...] = ()


async def get_stage_context(
    memory: MemoryManager, params: StageContextParams
) -> StageContextResult:
    """What matters in a stage: its summary, its best memories, its latest errors.

    Without ``current_stage`` it is the open stage, else the last completed one.
    """
    context = await memory.get_stage_context(params.task_id, params.current_stage)
    errors = tuple(
        RecentError.model_construct(
            **vars(error), description=error.error_description, severity=error.error_severity
        )
        for error in context.recent_errors
    )
    return StageContextResult.model_construct(**(vars(context) | {"recent_errors": errors}))


class ExpandLineParams(Value):
    task_id: CallerId
    line: Words


async def expand_line(memory: MemoryManager, params: ExpandLineParams) -> SourceTrail:
    """Follow one line of a task's or stage's summary down to its memories and content."""
    return await memory.expand_line(params.task_id, params.line)


class PlaceParams(Value):
    memory_id: MintedId


async def get_memory_place(memory: MemoryManager, params: PlaceParams) -> MemoryPlace:
    """Follow a memory up to its stage, its task, and the lines that rest on it."""
    return await memory.get_memory_place(params.memory_id)


class WorkingMemoryResult(Value):
    entries: tuple[WorkingEntry, ...] = Field(description="oldest first")


async def get_working_memory(memory: MemoryManager, params: TaskParams) -> WorkingMemoryResult:
    """The latest memories of a task, oldest first, at most 4,000 tokens of them."""
    entries = await memory.get_working_memory(params.task_id)
    return WorkingMemoryResult.model_construct(entries=tuple(entries))


def register(registry: Registry) -> None:
    read, write = Scope.READ, Scope.WRITE
    for method in (
        Method("memory.start_task", StartTaskParams, TaskResult, write, start_task),
        Method("memory.start_stage", StartStageParams, StageResult, write, start_stage),
        Method("memory.complete_stage", CompleteStageParams, CompletedStage, write, complete_stage),
        Method("memory.complete_task", CompleteTaskParams, TaskResult, write, complete_task),
        Method("memory.get_task_progress", TaskParams, TaskProgress, read, get_task_progress),
        Method(
            "memory.get_stage_context",
            StageContextParams,
            StageContextResult,
            read,
            get_stage_context,
        ),
        Method("memory.expand_line", ExpandLineParams, SourceTrail, read, expand_line),
        Method("memory.get_memory_place", PlaceParams, MemoryPlace, read, get_memory_place),
        Method(
            "memory.get_working_memory", TaskParams, WorkingMemoryResult, read, get_working_memory
        ),
    ):
        registry.add(method)
