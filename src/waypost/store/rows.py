"""Between records and rows: the only place that knows both shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import RowMapping

from waypost.model import Action, Fact, MemoryLink, MemoryRecord
from waypost.model.vocabulary import LinkKind, MemoryType, Origin, Tier, Trust


@dataclass(frozen=True, slots=True)
class PreparedMemory:
    """A record ready to be stored, with what only the store and the index need to know."""

    record: MemoryRecord
    index_terms: str
    digest: str
    fact_key: str | None = None
    vector: NDArray[np.float32] | None = None
    idempotency_key: str | None = None
    body_digest: str | None = None


_PLAIN = (
    "memory_id", "agent_id", "task_id", "project_id", "run_id", "stage_id", "kind", "content",
    "summary", "source", "importance", "token_count", "timestamp", "valid_from", "valid_to",
    "superseded_by", "relevance_score", "is_critical", "criticality_reason",
    "stage_relevance_map", "outcome", "success", "metadata", "encoder", "fallback_reason",
    "version", "created_at", "updated_at",
)  # fmt: skip
_LISTS = ("entities", "keywords", "tags")
_plain_values = attrgetter(*_PLAIN)


def memory_row(row_id: int, prepared: PreparedMemory) -> dict[str, Any]:
    record = prepared.record
    row: dict[str, Any] = dict(zip(_PLAIN, _plain_values(record), strict=True))
    row.update(
        entities=list(record.entities),
        keywords=list(record.keywords),
        tags=list(record.tags),
        row_id=row_id,
        tier=record.tier.value,
        type=record.type.value,
        origin=record.origin.value,
        trust=record.trust.value,
        facts=[fact.model_dump(exclude_none=True) for fact in record.facts],
        actions=[action.model_dump(mode="json", exclude_none=True) for action in record.actions],
        index_terms=prepared.index_terms,
        digest=prepared.digest,
        fact_key=prepared.fact_key,
    )
    return row


def record_from(row: Mapping[Any, Any], links: Sequence[MemoryLink] = ()) -> MemoryRecord:
    """Build the record of a row that joins ``memories`` with its accesses.

    The row was validated when it was written, so it is not validated again.
    """
    values: dict[str, Any] = {name: row[name] for name in _PLAIN}
    values.update({name: tuple(row[name]) for name in _LISTS})
    values.update(
        tier=Tier(row["tier"]),
        type=MemoryType(row["type"]),
        origin=Origin(row["origin"]),
        trust=Trust(row["trust"]),
        facts=tuple(Fact.model_construct(**_fact(fact)) for fact in row["facts"]),
        actions=tuple(Action(**action) for action in row["actions"]),
        links=tuple(links),
        access_count=row["access_count"] or 0,
        last_accessed=row["last_accessed"],
        embedding=None,
        embedder=row.get("embedder"),
        dimension=row.get("dimension"),
    )
    return MemoryRecord.model_construct(**values)


def _fact(stored: dict[str, Any]) -> dict[str, Any]:
    return {"subject": None, "attribute": None, "value": None, **stored}


def link_from(row: RowMapping) -> MemoryLink:
    return MemoryLink(kind=LinkKind(row["kind"]), target_id=row["target_id"])
