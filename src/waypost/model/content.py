"""Content items: full tool results kept beside the conversation."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from waypost.model.base import Value
from waypost.model.ids import CallerId
from waypost.model.times import UtcTime
from waypost.model.vocabulary import Trust


class ContentType(StrEnum):
    ACTION_RESULT = "action_result"
    WEB_CONTENT = "web_content"
    DATABASE_RESULT = "database_result"
    CUSTOM = "custom"


class ContentItem(Value):
    """What is known of a stored result without opening it.

    ``characters`` is None for data that is not text; ``kind`` names how it is compacted
    ("web page", "log", …).
    """

    content_id: str
    agent_id: CallerId
    run_id: CallerId
    type: ContentType
    source: str
    media_type: str
    digest: str
    size: int
    characters: int | None = None
    token_count: int
    kind: str = ""
    title: str | None = None
    tags: tuple[str, ...] = ()
    related_to: tuple[str, ...] = ()
    trust: Trust = Trust.LOW
    is_error: bool = False
    pinned: bool = False
    first_shown_step: int | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    created_at: UtcTime


class ContentSnapshot(Value):
    """Which items a run's store held at one moment. The contents stay where they are."""

    agent_id: CallerId
    run_id: CallerId
    items: tuple[ContentItem, ...]


class TransformType(StrEnum):
    FULL = "full"
    EXCERPT = "excerpt"
    SUMMARY = "summary"
    FIRST_N = "first_n"
    LAST_N = "last_n"
    FILTERED = "filtered"


class Transform(Value):
    """How to read an item back. ``params`` are checked against ``type`` by the transform."""

    type: TransformType = TransformType.FULL
    params: dict[str, Any] = Field(default_factory=dict)


class ContentView(Value):
    """An item read back through a transform."""

    item: ContentItem
    transform: Transform
    text: str
    token_count: int
    truncated: bool = False
    note: str | None = None


class ContentCriteria(Value):
    """What to look for. ``other_than`` leaves out sources."""

    type: ContentType | None = None
    source: str | None = None
    other_than: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    run_id: CallerId | None = None
    text: str | None = None
    since: UtcTime | None = None
    until: UtcTime | None = None
    limit: int = Field(default=20, ge=1, le=1000)
