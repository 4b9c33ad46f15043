"""The fields of a memory that can be filtered and ordered by."""

from __future__ import annotations

from enum import StrEnum

from waypost.filters.fields import Field, FieldTable, FieldType
from waypost.model.vocabulary import MemoryType, Origin, Tier, Trust

_OF_TYPE: dict[FieldType, tuple[str, ...]] = {
    FieldType.ID: ("memory_id", "stage_id", "superseded_by"),
    FieldType.TEXT: (
        "agent_id",
        "task_id",
        "project_id",
        "run_id",
        "kind",
        "content",
        "summary",
        "source",
        "criticality_reason",
        "outcome",
        "encoder",
        "fallback_reason",
    ),
    FieldType.NUMBER: (
        "importance",
        "token_count",
        "relevance_score",
        "access_count",
        "version",
    ),
    FieldType.TIME: (
        "timestamp",
        "valid_from",
        "valid_to",
        "last_accessed",
        "created_at",
        "updated_at",
    ),
    FieldType.BOOL: ("is_critical", "success"),
    FieldType.TEXTS: ("entities", "keywords", "tags"),
    FieldType.JSON: ("metadata", "stage_relevance_map"),
}


def _choice(name: str, vocabulary: type[StrEnum]) -> Field:
    return Field(name, FieldType.TEXT, choices=tuple(member.value for member in vocabulary))


MEMORY_FIELDS = FieldTable(
    [
        *(Field(name, type_) for type_, names in _OF_TYPE.items() for name in names),
        _choice("tier", Tier),
        _choice("type", MemoryType),
        _choice("origin", Origin),
        _choice("trust", Trust),
    ],
    identity="memory_id",
)
"""Every filterable field of a MemoryRecord; metadata and stage_relevance_map by dotted path."""
