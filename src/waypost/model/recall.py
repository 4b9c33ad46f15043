"""What a retrieval is asked, and what it answers.

Every recalled memory carries its reasons: the five factors of its score and
every route that found it. ``degraded`` says that part of the search could not
run, and why; it is never the same as "nothing found".
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from waypost.model.base import Value
from waypost.model.ids import CallerId, MintedId
from waypost.model.memory import Label, MemoryRecord, Unit
from waypost.model.times import UtcTime
from waypost.model.vocabulary import MemoryType, StageType, Tier

HalfLife = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Weights(Value):
    """How much each factor counts. They need not sum to one; the score is divided by their sum."""

    relevance: Unit = 0.40
    recency: Unit = 0.20
    frequency: Unit = 0.15
    stage: Unit = 0.15
    criticality: Unit = 0.10

    @model_validator(mode="after")
    def _not_all_zero(self) -> Weights:
        if self.total == 0:
            raise ValueError("at least one weight must be above zero")
        return self

    @property
    def total(self) -> float:
        return self.relevance + self.recency + self.frequency + self.stage + self.criticality


class Factors(Value):
    """The five factors of a score, each from 0 to 1."""

    relevance: float
    recency: float
    frequency: float
    stage: float
    criticality: float


class RouteHit(Value):
    """One route that found a memory: its rank there (from 1) and the score on that route."""

    route: str
    rank: int
    score: float


class Why(Value):
    factors: Factors
    routes: tuple[RouteHit, ...]
    note: str | None = None


class RecalledMemory(Value):
    memory: MemoryRecord
    score: float
    why: Why
    conflicts_with: tuple[MintedId, ...] = ()

    @property
    def memory_id(self) -> str:
        return self.memory.memory_id


class TimeRange(Value):
    """Half-open: ``start`` belongs to the range, ``end`` does not. None leaves a side open."""

    start: UtcTime | None = None
    end: UtcTime | None = None

    @model_validator(mode="after")
    def _ordered(self) -> TimeRange:
        if self.start and self.end and self.end < self.start:
            raise ValueError("the time range ends before it starts")
        return self


class RecallRequest(Value):
    """One question to the memory. Weights and half-life not given are the agent's own."""

    query: str
    k: Annotated[int, Field(ge=1, le=1000)] = 5
    types: tuple[MemoryType, ...] = ()
    kinds: tuple[str, ...] = ()
    tier: Tier | None = None
    task_id: CallerId | None = None
    project_id: CallerId | None = None
    run_id: CallerId | None = None
    stage_id: MintedId | None = None
    current_stage: StageType | None = None
    time_range: TimeRange | None = None
    entities: tuple[Label, ...] = ()
    keywords: tuple[Label, ...] = ()
    tags: tuple[Label, ...] = ()
    where: dict[str, Any] = Field(default_factory=dict)
    as_of: UtcTime | None = None
    include_superseded: bool = False
    weights: Weights | None = None
    half_life_hours: HalfLife | None = None

    @field_validator("query")
    @classmethod
    def _has_words(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("the query is empty; ask in a few words")
        if len(value) > 100_000:
            raise ValueError("the query is longer than 100,000 characters")
        return value


class Recall(Value):
    """The answer to a request, best memory first."""

    memories: tuple[RecalledMemory, ...]
    degraded: bool = False
    reasons: tuple[str, ...] = ()
    time_range: TimeRange | None = None

    def __iter__(self) -> Any:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    def __getitem__(self, index: int) -> RecalledMemory:
        return self.memories[index]


class Stored(Value):
    """The receipt of a write: durable when you hold it.

    ``memory`` is the record itself; ``derived`` the facts and procedures that an
    interaction gave rise to; ``superseded`` the ids that the write closed.
    ``duplicate`` means that nothing new was stored because it was known already.
    ``embedded`` is False while the vector still waits in the queue.
    """

    memory: MemoryRecord
    derived: tuple[MemoryRecord, ...] = ()
    superseded: tuple[MintedId, ...] = ()
    duplicate: bool = False
    embedded: bool = True

    @property
    def memory_id(self) -> str:
        return self.memory.memory_id
