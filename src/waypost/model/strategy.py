"""What repeated errors and past interventions say about the next decision."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from waypost.model.base import Value
from waypost.model.ids import CallerId, MintedId
from waypost.model.memory import Unit
from waypost.model.times import UtcTime


class Trend(StrEnum):
    """Whether a pattern's occurrences come closer together, stay, or thin out."""

    RISING = "rising"
    STEADY = "steady"
    FALLING = "falling"


class Recommendation(Value):
    """A recovery that was followed by no recurrence in ``worked`` of ``tried`` cases."""

    action: str
    worked: int
    tried: int

    @property
    def text(self) -> str:
        return f"{self.action} (no recurrence in {self.worked} of {self.tried})"


class ErrorPattern(Value):
    """Two or more errors of one signature."""

    signature: str
    error_type: str
    description: str
    tool: str | None = None
    occurrences: int
    avg_severity: Unit
    max_severity: Unit
    common_context: tuple[str, ...] = ()
    trend: Trend
    is_open: bool
    recommendation: Recommendation | None = None
    error_ids: tuple[MintedId, ...]
    memory_ids: tuple[MintedId, ...] = ()
    first_seen: UtcTime
    last_seen: UtcTime


class DecisionType(StrEnum):
    CONTINUE = "continue"
    PIVOT = "pivot"
    VERIFY = "verify"
    STOP = "stop"


class Evidence(Value):
    """One observation for (positive weight) or against (negative) a decision, and its sources."""

    statement: str
    weight: float
    source_ids: tuple[str, ...] = ()


class Intervention(Value):
    """A decision that was taken on a task, and how it ended once that is known."""

    intervention_id: MintedId
    agent_id: CallerId
    task_id: CallerId
    decision_type: DecisionType
    description: str
    outcome: str | None = None
    success: bool | None = None
    metrics_before: dict[str, float] = Field(default_factory=dict)
    metrics_after: dict[str, float] = Field(default_factory=dict)
    evidence: dict[str, Any] = Field(default_factory=dict)
    recorded_at: UtcTime


class Attempt(Value):
    """Something that was tried, and how it ended."""

    what: str
    outcome: str
    success: bool | None
    source_ids: tuple[str, ...]


class StrategicContext(Value):
    """What a meta-thinker needs for one decision: the state of the task, and the evidence.

    ``support`` is the sum of the evidence for each decision, ``advised`` the decision with the
    most. Evidence is stated with its sources; nothing here is a model's opinion.
    """

    task_id: CallerId
    decision_type: DecisionType
    task_goal: str
    progress: str
    critical_constraints: tuple[str, ...] = ()
    error_patterns: tuple[ErrorPattern, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    interventions: tuple[Intervention, ...] = ()
    performance_metrics: dict[str, float] = Field(default_factory=dict)
    metrics_trend: dict[str, float] = Field(default_factory=dict)
    evidence: dict[DecisionType, tuple[Evidence, ...]] = Field(default_factory=dict)
    support: dict[DecisionType, float] = Field(default_factory=dict)
    advised: DecisionType
