"""What an agent is given to read: the request for a context, and the package that answers it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from waypost.model.base import Value
from waypost.model.ids import CallerId, MintedId, new_id
from waypost.model.memory import Label, Unit
from waypost.model.recall import Why
from waypost.model.times import UtcTime, utc_now
from waypost.model.vocabulary import Origin, Tier, Trust


class TierSplit(Value):
    """The share of the budget that each tier may claim first; unused tokens flow to the others."""

    task: Unit = 0.4
    project: Unit = 0.4
    global_: Unit = Field(default=0.2, alias="global")

    model_config = ConfigDict(populate_by_name=True)

    @model_validator(mode="after")
    def _sums_to_one(self) -> TierSplit:
        total = self.task + self.project + self.global_
        if abs(total - 1.0) > 1e-6:
            raise ValueError(f"the shares of task, project and global add up to {total:g}, not 1")
        return self

    def share(self, tier: Tier) -> float:
        return {Tier.TASK: self.task, Tier.PROJECT: self.project, Tier.GLOBAL: self.global_}[tier]


class ContextProfile(Value):
    """How contexts are put together for one agent.

    ``head`` and ``tail`` are the first and last memories of the task that are kept
    whatever the query; ``window`` is how many of the newest are shown in full before
    older ones shrink; ``importance_weight`` is how much importance counts against
    relevance. ``learn_split`` lets reported use move the tier shares.
    """

    split: TierSplit = TierSplit()
    head: Annotated[int, Field(ge=0, le=50)] = 1
    tail: Annotated[int, Field(ge=0, le=50)] = 2
    window: Annotated[int, Field(ge=0, le=1000)] = 10
    importance_weight: Unit = 0.05
    largest_item_share: Annotated[float, Field(gt=0, le=1)] = 0.35
    encoding: str = "o200k_base"
    learn_split: bool = False


class TierRecord(Value):
    """Tokens of one tier that were shown and that turned out useful, the latest counting most."""

    shown: Annotated[float, Field(ge=0)] = 0.0
    used: Annotated[float, Field(ge=0)] = 0.0


class UseRecord(Value):
    """What the caller reported about its contexts."""

    reports: Annotated[int, Field(ge=0)] = 0
    tiers: dict[Tier, TierRecord] = Field(default_factory=dict)


class LearnedSplit(Value):
    """The shares that reports have led to, and why.

    ``split`` is what contexts use now, ``base`` what the profile says; ``rates`` are the
    used parts of what each tier showed. While ``enabled`` is False nothing is learned.
    """

    enabled: bool
    split: TierSplit
    base: TierSplit
    reports: int = 0
    rates: dict[Tier, float] = Field(default_factory=dict)
    explanation: str = ""


class ContextRequest(Value):
    """One request for a context. What is not set comes from the agent's profile."""

    query: str
    max_tokens: Annotated[int, Field(ge=0, le=1_000_000)] = 2000
    task_id: CallerId | None = None
    project_id: CallerId | None = None
    run_id: CallerId | None = None
    split: TierSplit | None = None
    profile: ContextProfile | None = None
    as_of: UtcTime | None = None
    where: dict[str, Any] = Field(default_factory=dict)


class Form(StrEnum):
    """How much of a memory is shown, from all of it to a line that stands for many."""

    RAW = "raw"
    EXCERPT = "excerpt"
    SUMMARY = "summary"
    STAGE_SUMMARY = "stage_summary"
    TASK_SUMMARY = "task_summary"


class ContextEntry(Value):
    """One thing that is in the context, in which form, and why."""

    entry_id: str
    section: str
    tier: Tier
    form: Form
    tokens: int
    value: float
    reason: str
    origin: Origin
    trust: Trust
    timestamp: UtcTime | None = None
    why: Why | None = None


class TierUse(Value):
    """What one tier was granted at first and what it holds in the end."""

    tier: Tier
    granted: int
    used: int
    entries: int


class ContextPackage(Value):
    """A context ready to be read. ``token_count`` is exact for ``text`` and never over budget.

    ``compression_ratio`` is the tokens of everything in scope for each token of the
    text: 10.0 means ten to one.
    """

    context_package_id: MintedId = Field(default_factory=new_id)
    text: str
    token_count: int
    max_tokens: int
    items: tuple[ContextEntry, ...] = ()
    tiers: tuple[TierUse, ...] = ()
    compression_ratio: float = 1.0
    source_tokens: int = 0
    left_out: int = 0
    degraded: bool = False
    reasons: tuple[str, ...] = ()
    split: TierSplit = TierSplit()

    def __str__(self) -> str:
        return self.text


class ContextItem(Value):
    """One item of a light backend: a note with a payload, without the machinery of a memory."""

    context_item_id: Annotated[str, StringConstraints(min_length=1, max_length=255)] = Field(
        default_factory=new_id
    )
    kind: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    source: str | None = None
    timestamp: UtcTime = Field(default_factory=utc_now)
    tags: tuple[Label, ...] = ()
    importance: Unit = 0.5
    token_cost: Annotated[int, Field(ge=0)] = 0
    payload: dict[str, Any] = Field(default_factory=dict)
    embedding: tuple[float, ...] | None = None
