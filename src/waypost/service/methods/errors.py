"""Methods on errors and on the decisions that follow from them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from waypost.errors.tracker import NewError
from waypost.memory import MemoryManager
from waypost.model import (
    CallerId,
    DecisionType,
    ErrorPattern,
    ErrorRecord,
    Intervention,
    MintedId,
    StrategicContext,
)
from waypost.model.base import Value
from waypost.service.caller import Scope
from waypost.service.methods.tasks import Words
from waypost.service.rpc import Method, Registry

Stages = Annotated[int, Field(ge=1, le=10_000)]


class RecordErrorParams(Value):
    error: NewError


class ErrorResult(Value):
    success: bool = True
    error_id: MintedId
    error: ErrorRecord

    @classmethod
    def of(cls, error: ErrorRecord) -> ErrorResult:
        return cls.model_construct(success=True, error_id=error.error_id, error=error)


async def record_error(memory: MemoryManager, params: RecordErrorParams) -> ErrorResult:
    """Record a failure; it is durable, and findable as a memory, when this answers.

    Severity is worked out when it is not given, and so is the signature by which the same
    failure is recognised when it comes again.
    """
    return ErrorResult.of(await memory.record_error(params.error))


class ResolveErrorParams(Value):
    error_id: MintedId
    recovery_action: str | None = None
    resolved: bool = True


async def resolve_error(memory: MemoryManager, params: ResolveErrorParams) -> ErrorResult:
    """Say what was done about an error, and whether that ended it."""
    error = await memory.resolve_error(
        params.error_id, params.recovery_action, resolved=params.resolved
    )
    return ErrorResult.of(error)


class ErrorHistoryParams(Value):
    task_id: CallerId | None = None
    lookback_stages: Stages | None = None


class ErrorHistoryResult(Value):
    errors: tuple[ErrorRecord, ...]


async def get_error_history(
    memory: MemoryManager, params: ErrorHistoryParams
) -> ErrorHistoryResult:
    """The errors of a task (of its last stages), or of the agent, oldest first."""
    errors = await memory.get_error_history(params.task_id, params.lookback_stages)
    return ErrorHistoryResult.model_construct(errors=tuple(errors))


class ErrorPatternsParams(Value):
    task_id: CallerId | None = None
    lookback_stages: Stages | None = 3


class PatternEntry(Value):
    """A pattern in words, for callers that need no more."""

    error_type: str
    occurrences: int
    avg_severity: float
    common_context: str
    recommendation: str | None

    @classmethod
    def of(cls, pattern: ErrorPattern) -> PatternEntry:
        advice = pattern.recommendation
        return cls.model_construct(
            error_type=pattern.error_type,
            occurrences=pattern.occurrences,
            avg_severity=pattern.avg_severity,
            common_context="; ".join(pattern.common_context),
            recommendation=None if advice is None else advice.text,
        )


class ErrorPatternsResult(Value):
    """``patterns`` says it in words; ``error_patterns`` are the same with all their evidence."""

    patterns: tuple[PatternEntry, ...]
    error_patterns: tuple[ErrorPattern, ...]


async def detect_error_patterns(
    memory: MemoryManager, params: ErrorPatternsParams
) -> ErrorPatternsResult:
    """Errors that came again in a task's last stages, with what they had in common.

    A recommendation is the recovery most often followed by no recurrence, with how often;
    where there is no such evidence there is none.
    """
    found = await memory.detect_error_patterns(params.task_id, params.lookback_stages)
    return ErrorPatternsResult.model_construct(
        patterns=tuple(PatternEntry.of(pattern) for pattern in found), error_patterns=tuple(found)
    )


class StrategicContextParams(Value):
    task_id: CallerId
    decision_type: DecisionType = DecisionType.CONTINUE


async def get_strategic_context(
    memory: MemoryManager, params: StrategicContextParams
) -> StrategicContext:
    """The state of a task and the evidence for continuing, pivoting, verifying, stopping."""
    return await memory.get_strategic_context(params.task_id, params.decision_type)


class InterventionParams(Value):
    task_id: CallerId
    decision_type: DecisionType
    description: Words
    outcome: str | None = None
    success: bool | None = None
    metrics_after: dict[str, float] | None = None


class InterventionResult(Value):
    success: bool = True
    intervention_id: MintedId
    intervention: Intervention


async def record_intervention_outcome(
    memory: MemoryManager, params: InterventionParams
) -> InterventionResult:
    """Record a decision that was taken and how it ended; later advice takes it into account."""
    made = await memory.record_intervention_outcome(
        params.task_id,
        params.decision_type,
        params.description,
        outcome=params.outcome,
        success=params.success,
        metrics_after=params.metrics_after,
    )
    return InterventionResult.model_construct(
        success=True, intervention_id=made.intervention_id, intervention=made
    )


def register(registry: Registry) -> None:
    read, write = Scope.READ, Scope.WRITE
    for method in (
        Method("memory.record_error", RecordErrorParams, ErrorResult, write, record_error),
        Method("memory.resolve_error", ResolveErrorParams, ErrorResult, write, resolve_error),
        Method(
            "memory.get_error_history",
            ErrorHistoryParams,
            ErrorHistoryResult,
            read,
            get_error_history,
        ),
        Method(
            "memory.detect_error_patterns",
            ErrorPatternsParams,
            ErrorPatternsResult,
            read,
            detect_error_patterns,
        ),
        Method(
            "memory.get_strategic_context",
            StrategicContextParams,
            StrategicContext,
            read,
            get_strategic_context,
        ),
        Method(
            "memory.record_intervention_outcome",
            InterventionParams,
            InterventionResult,
            write,
            record_intervention_outcome,
        ),
    ):
        registry.add(method)
