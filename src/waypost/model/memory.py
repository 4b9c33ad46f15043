"""The memory record, and what a caller hands in to make or change one.

A record is what the store returns. ``NewMemory`` and ``Interaction`` are input:
the encoder fills in what the caller left out. ``MemoryChanges`` is an edit by
delta; a field that is not set stays as it is.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints, model_validator

from waypost.model.base import Value
from waypost.model.ids import CallerId, MintedId
from waypost.model.storable import check_content, refuse_other_than_json, refuse_unstorable
from waypost.model.times import UtcTime
from waypost.model.vocabulary import LinkKind, MemoryType, Origin, Tier, Trust

Kind = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_]*$")]
Label = Annotated[str, StringConstraints(min_length=1, max_length=255, strip_whitespace=True)]
Unit = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class MemoryLink(Value):
    kind: LinkKind
    target_id: Annotated[str, StringConstraints(min_length=1, max_length=255)]


class Action(Value):
    """One thing the agent did, and how it ended when that is known."""

    name: Annotated[str, StringConstraints(min_length=1)]
    arguments: dict[str, Any] = Field(default_factory=dict)
    result: str | None = None
    success: bool | None = None


class Fact(Value):
    """One statement taken from a text. ``attribute`` is None when it did not parse further."""

    text: str
    subject: str | None = None
    attribute: str | None = None
    value: str | None = None


class MemoryRecord(Value):
    """One memory of one agent, as stored."""

    memory_id: MintedId
    agent_id: CallerId
    tier: Tier
    task_id: CallerId | None = None
    project_id: CallerId | None = None
    run_id: CallerId | None = None
    stage_id: MintedId | None = None

    type: MemoryType
    kind: Kind
    content: str
    summary: str
    entities: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    source: str | None = None
    origin: Origin = Origin.AGENT
    trust: Trust = Trust.MEDIUM
    importance: Unit = 0.5
    token_count: int = 0

    timestamp: UtcTime
    valid_from: UtcTime
    valid_to: UtcTime | None = None
    superseded_by: MintedId | None = None

    embedding: tuple[float, ...] | None = None
    embedder: str | None = None
    dimension: int | None = None

    links: tuple[MemoryLink, ...] = ()
    relevance_score: float = 1.0
    access_count: int = 0
    last_accessed: UtcTime | None = None

    is_critical: bool = False
    criticality_reason: str | None = None
    stage_relevance_map: dict[str, float] = Field(default_factory=dict)

    actions: tuple[Action, ...] = ()
    outcome: str | None = None
    success: bool | None = None

    metadata: dict[str, Any] = Field(default_factory=dict)
    encoder: str = "local"
    """What found summary, entities, facts and keywords: the local encoder or a chat model."""
    fallback_reason: str | None = None
    """Why the local encoder stood in for a chat model."""
    version: int = 1
    created_at: UtcTime
    updated_at: UtcTime

    @property
    def active(self) -> bool:
        """True while nothing newer has taken this record's place."""
        return self.superseded_by is None and self.valid_to is None


class _Placed(Value):
    """What every kind of input says about where, when and from whom."""

    task_id: CallerId | None = None
    project_id: CallerId | None = None
    run_id: CallerId | None = None
    stage_id: MintedId | None = None
    timestamp: UtcTime | None = None
    tags: tuple[Label, ...] = ()
    source: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    importance: Unit | None = None
    is_critical: bool = False
    criticality_reason: str | None = None
    idempotency_key: CallerId | None = None


class NewMemory(_Placed):
    """One memory to store. Everything but ``content`` has a sensible default."""

    content: str
    type: MemoryType | None = None
    kind: Kind | None = None
    summary: str | None = None
    entities: tuple[Label, ...] | None = None
    facts: tuple[Fact, ...] | None = None
    keywords: tuple[Label, ...] | None = None
    origin: Origin = Origin.AGENT
    trust: Trust | None = None
    valid_from: UtcTime | None = None
    valid_to: UtcTime | None = None
    links: tuple[MemoryLink, ...] = ()
    stage_relevance_map: dict[str, Unit] = Field(default_factory=dict)
    actions: tuple[Action, ...] = ()
    outcome: str | None = None
    success: bool | None = None
    embedding: tuple[float, ...] | None = None

    @model_validator(mode="after")
    def _check_content(self) -> NewMemory:
        check_content(self.content)
        refuse_unstorable(self)
        _check_json(self)
        if self.valid_from and self.valid_to and self.valid_to < self.valid_from:
            raise ValueError("valid_to lies before valid_from")
        return self


class Interaction(_Placed):
    """One exchange: what was asked, what was done, how it ended."""

    query: str
    response: str | None = None
    outcome: str | None = None
    actions: tuple[Action, ...] = ()
    success: bool | None = None
    origin: Origin = Origin.USER

    @model_validator(mode="after")
    def _check_content(self) -> Interaction:
        check_content("\n".join(p for p in (self.query, self.response, self.outcome) if p))
        refuse_unstorable(self)
        _check_json(self)
        return self


def _check_json(given: NewMemory | Interaction) -> None:
    if given.metadata:
        refuse_other_than_json(given.metadata, "metadata")
    for action in given.actions:
        if action.arguments:
            refuse_other_than_json(action.arguments, f"the arguments of {action.name}")


_MAY_BE_EMPTIED = frozenset({"criticality_reason", "valid_to", "outcome", "success"})


class MemoryChanges(Value):
    """An edit by delta: only the fields that are set change."""

    content: str | None = None
    summary: str | None = None
    kind: Kind | None = None
    type: MemoryType | None = None
    tags: tuple[Label, ...] | None = None
    entities: tuple[Label, ...] | None = None
    keywords: tuple[Label, ...] | None = None
    importance: Unit | None = None
    relevance_score: Unit | None = None
    is_critical: bool | None = None
    criticality_reason: str | None = None
    stage_relevance_map: dict[str, Unit] | None = None
    trust: Trust | None = None
    valid_to: UtcTime | None = None
    metadata: dict[str, Any] | None = None
    outcome: str | None = None
    success: bool | None = None
    links: tuple[MemoryLink, ...] | None = None

    @model_validator(mode="after")
    def _check_content(self) -> MemoryChanges:
        if not self.model_fields_set:
            raise ValueError("no field to change was given")
        for name in sorted(self.model_fields_set - _MAY_BE_EMPTIED):
            if getattr(self, name) is None:
                raise ValueError(f"{name} cannot be None; leave it out to keep it as it is")
        if self.content is not None:
            check_content(self.content)
        refuse_unstorable(self)
        if self.metadata:
            refuse_other_than_json(self.metadata, "metadata")
        return self


class HistoryEntry(Value):
    """One event in the life of a memory: who changed what, and what it was before."""

    sequence: int
    memory_id: MintedId
    version: int
    operation: str
    before: dict[str, Any]
    actor: str | None
    at: UtcTime
