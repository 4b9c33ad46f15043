"""Methods on the content channel: full results, kept beside the conversation."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, StringConstraints, model_validator

from waypost.memory import MemoryManager
from waypost.model import (
    CallerId,
    ContentCriteria,
    ContentItem,
    ContentType,
    Transform,
    TransformType,
    Trust,
)
from waypost.model.base import Value
from waypost.model.memory import Label
from waypost.service.caller import Scope
from waypost.service.rpc import Method, Registry

ContentId = Annotated[str, StringConstraints(min_length=1, max_length=255)]


class ContentStoreParams(Value):
    """``content`` is a text or any JSON value; for bytes send base64 and say so."""

    content: JsonValue
    run_id: CallerId
    source: str = ""
    type: ContentType = ContentType.ACTION_RESULT
    media_type: str = ""
    encoding: Literal["base64"] | None = None
    title: str | None = None
    tags: tuple[Label, ...] = ()
    related_to: tuple[ContentId, ...] = ()
    trust: Trust | None = None
    is_error: bool = False
    pinned: bool = False
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _decodes(self) -> ContentStoreParams:
        if self.encoding == "base64":
            self.data()
        return self

    def data(self) -> Any:
        """The content as the store takes it."""
        if self.encoding is None:
            return self.content
        if not isinstance(self.content, str):
            raise ValueError("content must be a base64 text when encoding is base64")
        try:
            return base64.b64decode(self.content, validate=True)
        except binascii.Error:
            raise ValueError("content is not base64") from None

    def details(self) -> dict[str, Any]:
        names = ("title", "tags", "related_to", "is_error", "pinned", "metadata")
        found = {name: getattr(self, name) for name in names}
        return found | ({} if self.trust is None else {"trust": self.trust})


class ContentStoreResult(Value):
    success: bool = True
    content_id: str
    item: ContentItem


async def store(memory: MemoryManager, params: ContentStoreParams) -> ContentStoreResult:
    """Keep a full result outside the conversation; the answer names the id to cite."""
    item = await memory.content(params.run_id).store(
        params.data(),
        source=params.source,
        type=params.type,
        media_type=params.media_type,
        **params.details(),
    )
    return ContentStoreResult.model_construct(success=True, content_id=item.content_id, item=item)


class ContentRetrieveParams(Value):
    content_id: ContentId
    transform: Transform | TransformType = TransformType.FULL
    run_id: CallerId | None = None

    def chosen(self) -> Transform:
        given = self.transform
        return given if isinstance(given, Transform) else Transform(type=given)


class ContentRetrieveResult(Value):
    item: ContentItem
    transform: Transform
    text: str
    token_count: int
    truncated: bool = False
    note: str | None = None


async def retrieve(memory: MemoryManager, params: ContentRetrieveParams) -> ContentRetrieveResult:
    """Read an item back, in full or through a transform.

    Transforms: full, excerpt, summary, first_n, last_n, and filtered by path, regex, columns
    or the passages that match a question.
    """
    view = await memory.content(params.run_id).retrieve(params.content_id, params.chosen())
    return ContentRetrieveResult.model_construct(**vars(view))


class ContentQueryParams(Value):
    criteria: ContentCriteria = ContentCriteria()


class ContentQueryResult(Value):
    items: tuple[ContentItem, ...]


async def query(memory: MemoryManager, params: ContentQueryParams) -> ContentQueryResult:
    """Find items by type, source, tags, time or text, newest first, without opening them."""
    items = await memory.content(params.criteria.run_id).query(params.criteria)
    return ContentQueryResult.model_construct(items=tuple(items))


def register(registry: Registry) -> None:
    for method in (
        Method("content.store", ContentStoreParams, ContentStoreResult, Scope.WRITE, store),
        Method(
            "content.retrieve", ContentRetrieveParams, ContentRetrieveResult, Scope.READ, retrieve
        ),
        Method("content.query", ContentQueryParams, ContentQueryResult, Scope.READ, query),
    ):
        registry.add(method)
