"""From what a caller hands in to a record that can be stored. Pure: no I/O, no clock.

The local encoder fills in what was left out: summary, entities, facts, keywords,
type and kind, importance, token count. What the caller did say is never changed.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from operator import attrgetter

from waypost.encode.facts import fact_key
from waypost.encode.importance import estimate_importance
from waypost.encode.routing import route
from waypost.encode.terms import QUESTION, analyze, asks, indexed_text
from waypost.encode.text import Encoded, encode
from waypost.model import Fact, MemoryRecord, NewMemory, Tier, new_id
from waypost.model.memory import _Placed
from waypost.model.vocabulary import FACT, TRUST_OF_ORIGIN, MemoryType
from waypost.store.rows import PreparedMemory
from waypost.tokens import count_tokens

MAX_INDEXED_CHARACTERS = 200_000
"""Text beyond this is kept but not indexed word by word; it belongs in the content channel."""


_COPIED = (
    "task_id", "project_id", "run_id", "stage_id", "content", "source", "origin", "valid_to",
    "links", "is_critical", "criticality_reason", "actions", "outcome", "success", "metadata",
)  # fmt: skip
_copied = attrgetter(*_COPIED)


def prepare(
    new: NewMemory, agent_id: str, now: datetime, encoded: Encoded | None = None
) -> PreparedMemory:
    """Make the record of one memory, encoded locally unless it is already; its vector follows."""
    encoded = encoded or encode(new.content, source=new.source)
    type_, kind = _type_and_kind(new, encoded)
    facts = encoded.facts if new.facts is None else new.facts
    timestamp = new.timestamp or now
    record = MemoryRecord.model_construct(
        **dict(zip(_COPIED, _copied(new), strict=True)),
        memory_id=new_id(),
        agent_id=agent_id,
        tier=tier_of(new),
        type=type_,
        kind=kind,
        summary=new.summary or encoded.summary,
        entities=encoded.entities if new.entities is None else new.entities,
        facts=facts,
        keywords=encoded.keywords if new.keywords is None else new.keywords,
        tags=tuple(dict.fromkeys(new.tags)),
        trust=new.trust or TRUST_OF_ORIGIN[new.origin],
        importance=_importance(new, kind),
        token_count=count_tokens(new.content),
        timestamp=timestamp,
        valid_from=new.valid_from or timestamp,
        stage_relevance_map=dict(new.stage_relevance_map),
        encoder=encoded.encoder,
        fallback_reason=encoded.fallback_reason,
        created_at=now,
        updated_at=now,
    )
    return PreparedMemory(
        record=record,
        index_terms=index_terms(record),
        digest=content_digest(type_, new.content),
        fact_key=key_of(kind, facts),
        idempotency_key=new.idempotency_key,
        body_digest=body_digest(new) if new.idempotency_key else None,
    )


def _type_and_kind(new: NewMemory, encoded: Encoded) -> tuple[MemoryType, str]:
    if new.type is not None and new.kind is not None:
        return new.type, new.kind
    if new.kind is None and encoded.type is not None and encoded.kind is not None:
        return new.type or encoded.type, encoded.kind
    type_, kind = route(
        new.content, actions=new.actions, success=new.success, kind=new.kind, facts=encoded.facts
    )
    return new.type or type_, new.kind or kind


def _importance(new: NewMemory, kind: str) -> float:
    return estimate_importance(new.content, kind) if new.importance is None else new.importance


def tier_of(new: _Placed) -> Tier:
    if new.task_id is not None:
        return Tier.TASK
    return Tier.GLOBAL if new.project_id is None else Tier.PROJECT


def embedded_text(content: str, source: str | None, timestamp: datetime) -> str:
    """The text whose vector stands for a memory."""
    return indexed_text(content[:MAX_INDEXED_CHARACTERS], source, timestamp)


def index_terms(record: MemoryRecord) -> str:
    """The terms of a memory, and the mark of a question behind them."""
    terms = analyze(embedded_text(record.content, record.source, record.timestamp))
    return " ".join([*terms, QUESTION] if asks(record.content) else terms)


def content_digest(type_: MemoryType, content: str) -> str:
    """Equal for texts that differ in case and white space only."""
    normal = " ".join(content.casefold().split())
    return hashlib.blake2b(f"{type_}\0{normal}".encode(), digest_size=16).hexdigest()


def body_digest(new: _Placed) -> str:
    body = new.model_dump_json(exclude={"idempotency_key"})
    return hashlib.blake2b(body.encode(), digest_size=32).hexdigest()


def key_of(kind: str, facts: tuple[Fact, ...]) -> str | None:
    """What a statement is about, so that a newer one about the same can take its place."""
    if kind != FACT or len(facts) != 1:
        return None
    key = fact_key(facts[0])
    return None if key is None else key[:255]
