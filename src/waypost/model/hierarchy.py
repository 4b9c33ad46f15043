"""Tasks, their stages, the summaries above them, and errors."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from waypost.model.base import Value
from waypost.model.ids import CallerId, MintedId
from waypost.model.memory import MemoryRecord, Unit
from waypost.model.times import UtcTime
from waypost.model.vocabulary import StageType, Trust

STAGE_RATIO = 10.0
STAGE_TOKENS = 500


class SummaryLine(Value):
    """One line of a summary and the records that support it.

    ``kind`` says what it is: command, decision, constraint, outcome, error, resolution, question,
    statement, or fact for a line of plain values. ``personal`` lines are a person's own words.
    """

    text: str
    source_ids: tuple[str, ...]
    pinned: bool = False
    kind: str = "fact"
    personal: bool = False


class StageMemory(Value):
    """One stage of a task; completing it adds a summary above its memories, never instead."""

    stage_id: MintedId
    task_id: CallerId
    agent_id: CallerId
    stage_type: StageType
    stage_summary: str = ""
    summary_lines: tuple[SummaryLine, ...] = ()
    stage_insights: tuple[str, ...] = ()
    critical_items: tuple[str, ...] = ()
    raw_memory_refs: tuple[MintedId, ...] = ()
    relevance_score: float = 1.0
    trust: Trust = Trust.MEDIUM
    original_tokens: int = 0
    compressed_tokens: int = 0
    compression_ratio: float = 1.0
    information_retention: float = 1.0
    compression_model: str | None = None
    fallback_reason: str | None = None
    created_at: UtcTime
    updated_at: UtcTime
    completed_at: UtcTime | None = None

    @property
    def is_open(self) -> bool:
        return self.completed_at is None

    @property
    def note(self) -> str | None:
        """What the reader of the summary should know about how it was made."""
        if self.is_open:
            return None
        if self.fallback_reason:
            return f"compressed locally: {self.fallback_reason}"
        if self.compression_ratio < STAGE_RATIO and self.original_tokens > STAGE_TOKENS:
            return (
                f"longer than {STAGE_RATIO:.0f}:1 asks, because {self.information_retention:.1%} "
                f"of its facts are kept ({self.compression_ratio:.1f}:1)"
            )
        return None


class TaskStatus(StrEnum):
    OPEN = "open"
    COMPLETED = "completed"
    FAILED = "failed"
    ABANDONED = "abandoned"


class TaskContext(Value):
    """One task: what it is for, what binds it, and how far it has come."""

    task_id: CallerId
    agent_id: CallerId
    project_id: CallerId | None = None
    task_goal: str
    status: TaskStatus = TaskStatus.OPEN
    outcome: str | None = None
    current_stage_id: MintedId | None = None
    task_progress_summary: str = ""
    summary_lines: tuple[SummaryLine, ...] = ()
    critical_constraints: tuple[str, ...] = ()
    performance_metrics: dict[str, float] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)
    created_at: UtcTime
    updated_at: UtcTime
    completed_at: UtcTime | None = None


class TaskProgress(Value):
    """How far a task has come: its summary, its stages in order, the brief for the next step."""

    task_id: CallerId
    task_goal: str
    status: TaskStatus
    outcome: str | None = None
    task_progress_summary: str = ""
    summary_lines: tuple[SummaryLine, ...] = ()
    brief: str = ""
    current_stage: StageType | None = None
    current_stage_id: MintedId | None = None
    completed_stages: tuple[StageType, ...] = ()
    stages: tuple[StageMemory, ...] = ()
    critical_constraints: tuple[str, ...] = ()
    performance_metrics: dict[str, float] = Field(default_factory=dict)


class StageGlimpse(Value):
    """One memory of a stage, as much of it as a context needs."""

    memory_id: MintedId
    summary: str
    importance_score: float


class StageContext(Value):
    """What an agent in a stage needs at hand."""

    task_id: CallerId
    stage_id: MintedId | None
    stage_type: StageType
    stage_summary: str
    stage_insights: tuple[str, ...] = ()
    relevant_memories: tuple[StageGlimpse, ...] = ()
    recent_errors: tuple[ErrorRecord, ...] = ()


class SourceTrail(Value):
    """One line of a summary with everything below it: stage, memories, content items."""

    line: SummaryLine
    stage_id: MintedId | None
    memories: tuple[MemoryRecord, ...]
    content_ids: tuple[str, ...] = ()


class MemoryPlace(Value):
    """Where a memory went: its stage, its task, and every summary line that rests on it."""

    memory_id: MintedId
    stage: StageMemory | None
    task: TaskContext | None
    stage_lines: tuple[SummaryLine, ...] = ()
    task_lines: tuple[SummaryLine, ...] = ()


class MemoryLeaf(Value):
    """One memory at the end of a branch: what it is, and the content items behind it."""

    memory_id: MintedId
    kind: str
    summary: str
    timestamp: UtcTime
    is_critical: bool = False
    content_ids: tuple[str, ...] = ()


class LineBranch(Value):
    """One line of a summary and the memories it rests on; ``missing`` are in the archive."""

    line: SummaryLine
    memories: tuple[MemoryLeaf, ...]
    missing: tuple[str, ...] = ()


class StageBranch(Value):
    """One stage, its summary line by line, and how many memories lie below it."""

    stage: StageMemory
    lines: tuple[LineBranch, ...]
    memory_count: int
    open_memories: tuple[MemoryLeaf, ...] = ()


class TaskTree(Value):
    """A task from its goal down to its memories and content items."""

    task: TaskContext
    stages: tuple[StageBranch, ...]


class ErrorRecord(Value):
    """One failure, with the signature that makes it recognisable when it comes again."""

    error_id: MintedId
    agent_id: CallerId
    task_id: CallerId | None = None
    stage_id: MintedId | None = None
    memory_id: MintedId | None = None
    error_type: str
    error_description: str
    context_when_occurred: str = ""
    tool: str | None = None
    action: str | None = None
    recovery_action: str | None = None
    resolved: bool | None = None
    error_severity: Unit
    signature: str
    signature_version: int
    metadata: dict[str, Any] = Field(default_factory=dict)
    recorded_at: UtcTime


class CompressionMetric(Value):
    """What one compression cost and kept."""

    metric_id: MintedId
    agent_id: CallerId
    task_id: CallerId | None = None
    stage_id: MintedId | None = None
    level: str
    engine: str
    model_used: str
    original_tokens: int
    compressed_tokens: int
    compression_ratio: float
    information_retention_score: float
    pinned_kept: float
    unsupported: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    reasoning_cost_usd: float
    cached: bool = False
    recorded_at: UtcTime

    @property
    def saving(self) -> float:
        """The share of the reasoning model's price that was not spent: 0 to 1."""
        if not self.reasoning_cost_usd:
            return 0.0
        return 1.0 - self.cost_usd / self.reasoning_cost_usd
