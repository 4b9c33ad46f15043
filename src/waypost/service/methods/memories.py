"""Methods on single memories: store, retrieve, read, change, forget."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasChoices, Field, model_validator

from waypost.memory import MemoryManager
from waypost.model import (
    CallerId,
    HistoryEntry,
    Interaction,
    MemoryChanges,
    MemoryRecord,
    MemoryType,
    MintedId,
    NewMemory,
    Recall,
    RecalledMemory,
    RecallRequest,
    Stored,
    TimeRange,
    UtcTime,
    Why,
)
from waypost.model.base import Value
from waypost.model.context import ContextEntry, ContextProfile, ContextRequest, TierSplit, TierUse
from waypost.service.caller import Scope
from waypost.service.rpc import Method, Registry
from waypost.store.statistics import AgentStatistics

MAX_STORED_AT_ONCE = 1000


class StoreParams(Value):
    """Exactly one of the two is given."""

    interaction: Interaction | None = None
    memory: NewMemory | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> StoreParams:
        if (self.interaction is None) == (self.memory is None):
            raise ValueError("give either interaction or memory")
        return self


class StoreResult(Value):
    """The receipt of a write: durable when you hold it."""

    success: bool = True
    memory_id: MintedId
    memory: MemoryRecord
    derived: tuple[MemoryRecord, ...] = ()
    superseded: tuple[MintedId, ...] = ()
    duplicate: bool = False
    embedded: bool = True

    @classmethod
    def of(cls, stored: Stored) -> StoreResult:
        return cls.model_construct(success=True, memory_id=stored.memory.memory_id, **vars(stored))


async def store(memory: MemoryManager, params: StoreParams) -> StoreResult:
    """Remember one interaction, or one memory of any kind.

    The answer means that the memory is durable. Give an ``idempotency_key`` to make a
    repeated call safe: the same key stores once, and with another body it is an error.
    """
    if params.interaction is not None:
        return StoreResult.of(await memory.add_interaction(params.interaction))
    assert params.memory is not None
    return StoreResult.of(await memory.add_memory(params.memory))


class StoreManyParams(Value):
    memories: Annotated[tuple[NewMemory, ...], Field(max_length=MAX_STORED_AT_ONCE)]


class StoreManyResult(Value):
    success: bool = True
    stored: tuple[StoreResult, ...]


async def store_many(memory: MemoryManager, params: StoreManyParams) -> StoreManyResult:
    """Remember many memories in one transaction: all of them, or none."""
    stored = await memory.add_memories(params.memories)
    return StoreManyResult.model_construct(
        success=True, stored=tuple(StoreResult.of(each) for each in stored)
    )


class RetrieveParams(RecallRequest):
    types: tuple[MemoryType, ...] = Field(
        default=(), validation_alias=AliasChoices("memory_types", "types")
    )
    now: UtcTime | None = None
    track_access: bool = True


class RecalledEntry(Value):
    """A recalled memory; id, summary and score stand first for callers that need no more."""

    memory_id: MintedId
    summary: str
    importance_score: float
    memory: MemoryRecord
    score: float
    why: Why
    conflicts_with: tuple[MintedId, ...] = ()

    @classmethod
    def of(cls, found: RecalledMemory) -> RecalledEntry:
        return cls.model_construct(
            memory_id=found.memory.memory_id,
            summary=found.memory.summary,
            importance_score=found.score,
            **vars(found),
        )


class RetrieveResult(Value):
    memories: tuple[RecalledEntry, ...]
    degraded: bool = False
    reasons: tuple[str, ...] = ()
    time_range: TimeRange | None = None

    @classmethod
    def of(cls, recall: Recall) -> RetrieveResult:
        found = tuple(RecalledEntry.of(each) for each in recall.memories)
        return cls.model_construct(**(vars(recall) | {"memories": found}))


async def retrieve(memory: MemoryManager, params: RetrieveParams) -> RetrieveResult:
    """Recall the memories that matter for a question, best first, each with its reasons.

    ``degraded`` is true when part of the search could not run, and ``reasons`` says which;
    that is never the same as finding nothing.
    """
    recall = await memory.retrieve_memories(
        params, now=params.now, track_access=params.track_access
    )
    return RetrieveResult.of(recall)


class ContextParams(Value):
    query: str
    task_id: CallerId | None = None
    max_tokens: Annotated[int, Field(ge=0, le=1_000_000)] = 2000
    project_id: CallerId | None = None
    run_id: CallerId | None = None
    split: TierSplit | None = None
    profile: ContextProfile | None = None
    as_of: UtcTime | None = None
    where: dict[str, Any] = Field(default_factory=dict)


class ContextResult(Value):
    """The text to read, exactly ``token_count`` tokens long, and how it came about."""

    context: str
    token_count: int
    context_package_id: MintedId
    max_tokens: int
    items: tuple[ContextEntry, ...] = ()
    tiers: tuple[TierUse, ...] = ()
    compression_ratio: float = 1.0
    source_tokens: int = 0
    left_out: int = 0
    degraded: bool = False
    reasons: tuple[str, ...] = ()
    split: TierSplit = TierSplit()


async def get_context(memory: MemoryManager, params: ContextParams) -> ContextResult:
    """The few tokens that matter now, as text to put before a model.

    Never over ``max_tokens``. What was stored is fenced as data, with its origin and trust.
    """
    request = ContextRequest.model_construct(**vars(params))
    package = await memory.get_relevant_context(request, params.task_id)
    fields = vars(package) | {"context": package.text}
    del fields["text"]
    return ContextResult.model_construct(**fields)


class MemoryParams(Value):
    memory_id: MintedId


class MemoryResult(Value):
    memory: MemoryRecord


async def get(memory: MemoryManager, params: MemoryParams) -> MemoryResult:
    """Read one memory by its id."""
    return MemoryResult.model_construct(memory=await memory.get_memory(params.memory_id))


class ListParams(Value):
    where: dict[str, Any] = Field(default_factory=dict)
    order_by: str = "timestamp"
    limit: Annotated[int, Field(ge=0, le=100_000)] = 100


class ListResult(Value):
    memories: tuple[MemoryRecord, ...]


async def list_(memory: MemoryManager, params: ListParams) -> ListResult:
    """List the memories that match a filter, newest first unless ordered otherwise.

    The filter language knows equality, lists, ``$eq $ne $gt $gte $lt $lte $in $nin $exists
    $contains $and $or $not``; an unknown field or operator is an error.
    """
    found = await memory.list_memories(params.where, order_by=params.order_by, limit=params.limit)
    return ListResult.model_construct(memories=tuple(found))


class CountParams(Value):
    where: dict[str, Any] = Field(default_factory=dict)


class CountResult(Value):
    count: int


async def count(memory: MemoryManager, params: CountParams) -> CountResult:
    """Count the memories that match a filter."""
    return CountResult(count=await memory.count_memories(params.where))


class UpdateParams(Value):
    memory_id: MintedId
    updates: MemoryChanges
    expected_version: int | None = None
    actor: CallerId | None = None


class UpdateResult(Value):
    success: bool = True
    memory: MemoryRecord


async def update(memory: MemoryManager, params: UpdateParams) -> UpdateResult:
    """Change the given fields of one memory; its history keeps what they held before.

    With ``expected_version`` the change is refused if someone else changed the memory first.
    """
    record = await memory.update_memory(
        params.memory_id,
        params.updates,
        expected_version=params.expected_version,
        actor=params.actor,
    )
    return UpdateResult.model_construct(success=True, memory=record)


class DeleteParams(MemoryParams):
    actor: CallerId | None = None


class DeleteResult(Value):
    success: bool = True
    memory_id: MintedId


async def delete(memory: MemoryManager, params: DeleteParams) -> DeleteResult:
    """Forget one memory."""
    await memory.forget_memory(params.memory_id, actor=params.actor)
    return DeleteResult(memory_id=params.memory_id)


class HistoryResult(Value):
    history: tuple[HistoryEntry, ...]


async def history(memory: MemoryManager, params: MemoryParams) -> HistoryResult:
    """Everything that happened to one memory, oldest first."""
    entries = await memory.get_history(params.memory_id)
    return HistoryResult.model_construct(history=tuple(entries))


class NoParams(Value):
    """Nothing to say."""


async def statistics(memory: MemoryManager, params: NoParams) -> AgentStatistics:
    """How much this agent remembers, by type, tier and kind."""
    return await memory.get_statistics()


def register(registry: Registry) -> None:
    read, write = Scope.READ, Scope.WRITE
    for method in (
        Method("memory.store", StoreParams, StoreResult, write, store),
        Method("memory.store_many", StoreManyParams, StoreManyResult, write, store_many),
        Method("memory.retrieve", RetrieveParams, RetrieveResult, read, retrieve),
        Method("memory.get_context", ContextParams, ContextResult, read, get_context),
        Method("memory.get", MemoryParams, MemoryResult, read, get),
        Method("memory.list", ListParams, ListResult, read, list_),
        Method("memory.count", CountParams, CountResult, read, count),
        Method("memory.update", UpdateParams, UpdateResult, write, update),
        Method("memory.delete", DeleteParams, DeleteResult, write, delete),
        Method("memory.history", MemoryParams, HistoryResult, read, history),
        Method("memory.statistics", NoParams, AgentStatistics, read, statistics),
    ):
        registry.add(method)
