"""The part of a memory that follows tasks: stages, summaries, errors, strategy.

``MemoryManager`` inherits these methods. Each is one operation and delegates to the part that does
the work; the parts are reachable as ``memory.tasks``, ``memory.stages``, ``memory.errors`` and
``memory.strategy`` for everything beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from waypost.errors.strategy import Strategist
from waypost.errors.tracker import ErrorTracker, NewError
from waypost.model import (
    DecisionType,
    ErrorPattern,
    ErrorRecord,
    Intervention,
    MemoryPlace,
    SourceTrail,
    StageContext,
    StageMemory,
    StageType,
    StrategicContext,
    TaskContext,
    TaskProgress,
    TaskStatus,
)
from waypost.stages.compressor import ContextCompressor
from waypost.stages.manager import StageManager
from waypost.stages.tasks import TaskManager
from waypost.validation import checked, checked_choice, checked_id


@dataclass(frozen=True, slots=True)
class TaskParts:
    """What follows tasks; the engine wires it."""

    tasks: TaskManager
    stages: StageManager
    compressor: ContextCompressor
    errors: ErrorTracker
    strategy: Strategist


class TaskMemory:
    """The task operations of one agent."""

    def __init__(self, parts: TaskParts) -> None:
        self.tasks = parts.tasks
        self.stages = parts.stages
        self.compressor = parts.compressor
        self.errors = parts.errors
        self.strategy = parts.strategy

    async def start_task(
        self,
        goal: str,
        *,
        task_id: str | None = None,
        constraints: Sequence[str] = (),
        project_id: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> TaskContext:
        """Begin a task. The same id with the same goal returns the task that is there."""
        return await self.tasks.start(
            goal,
            task_id=task_id,
            constraints=constraints,
            project_id=project_id,
            metadata=metadata,
        )

    async def start_stage(self, task_id: str, stage_type: StageType | str) -> StageMemory:
        """Open a stage of a task: planning, execution, reflection or verification.

        One stage of a task is open at a time; memories of the task go into it by themselves.
        """
        return await self.stages.create_stage(task_id, checked_choice(StageType, stage_type))

    async def complete_stage(self, task_id: str, stage_id: str | None = None) -> StageMemory:
        """Put a summary above a stage (the open one by default) and close it for good.

        Completing it again returns the same summary.
        """
        wanted = None if stage_id is None else checked_id(stage_id)
        return await self.tasks.complete_stage(task_id, wanted)

    async def complete_task(
        self,
        task_id: str,
        outcome: str | None = None,
        status: TaskStatus | str = TaskStatus.COMPLETED,
    ) -> TaskContext:
        """End a task as completed, failed or abandoned; its open stage is completed first."""
        return await self.tasks.complete(task_id, outcome, checked_choice(TaskStatus, status))

    async def get_task_progress(self, task_id: str) -> TaskProgress:
        """How far a task has come: summary, stages, constraints, figures, and a short brief."""
        return await self.tasks.progress(task_id)

    async def get_stage_context(
        self, task_id: str, current_stage: StageType | str | None = None
    ) -> StageContext:
        """What matters in a stage: its summary, its best memories, its latest errors."""
        wanted = None if current_stage is None else checked_choice(StageType, current_stage)
        return await self.tasks.stage_context(task_id, wanted)

    async def expand_line(self, task_id: str, line: str) -> SourceTrail:
        """Follow one line of a task's or stage's summary down to its memories and content."""
        return await self.tasks.expand(task_id, line)

    async def get_memory_place(self, memory_id: str) -> MemoryPlace:
        """Follow a memory up to its stage, its task, and the lines that rest on it."""
        return await self.tasks.place_of(checked_id(memory_id))

    async def record_error(
        self, error_type: str | NewError, error_description: str | None = None, **details: Any
    ) -> ErrorRecord:
        """Record a failure. ``details`` are the other fields of ``NewError``: task_id, tool,
        action, context_when_occurred, recovery_action, resolved, error_severity, …."""
        new = (
            error_type
            if isinstance(error_type, NewError)
            else checked(
                NewError,
                {"error_type": error_type, "error_description": error_description, **details},
            )
        )
        return await self.errors.record(new)

    async def resolve_error(
        self, error_id: str, recovery_action: str | None = None, *, resolved: bool = True
    ) -> ErrorRecord:
        """Say what was done about an error, and whether that ended it."""
        return await self.errors.resolve(checked_id(error_id), recovery_action, resolved=resolved)

    async def get_error_history(
        self, task_id: str | None = None, lookback_stages: int | None = None
    ) -> list[ErrorRecord]:
        """The errors of a task (of its last stages), or of the agent, oldest first."""
        return await self.errors.history(task_id, lookback_stages)

    async def detect_error_patterns(
        self, task_id: str | None = None, lookback_stages: int | None = 3
    ) -> list[ErrorPattern]:
        """Errors that came again in a task's last stages, with what they had in common."""
        return await self.errors.detect_patterns(task_id, lookback_stages)

    async def get_strategic_context(
        self, task_id: str, decision_type: DecisionType | str = DecisionType.CONTINUE
    ) -> StrategicContext:
        """The state of a task and the evidence for continuing, pivoting, verifying, stopping."""
        return await self.strategy.context(task_id, checked_choice(DecisionType, decision_type))

    async def record_intervention_outcome(
        self,
        task_id: str,
        decision_type: DecisionType | str,
        description: str,
        *,
        outcome: str | None = None,
        success: bool | None = None,
        metrics_after: dict[str, float] | None = None,
    ) -> Intervention:
        """Record a decision that was taken and how it ended; later advice takes it into account."""
        return await self.strategy.record_outcome(
            task_id,
            checked_choice(DecisionType, decision_type),
            description,
            outcome=outcome,
            success=success,
            metrics_after=metrics_after,
        )
