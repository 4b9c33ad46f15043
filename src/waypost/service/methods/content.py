"""Methods on the content channel: full results, kept beside the conversation."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, StringConstraints, model_validator

from waypost.content.citation import CITATION_TOKENS, Citation
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
    run_id: CallerId | None = None


class ContentQueryResult(Value):
    items: tuple[ContentItem, ...]


async def query(memory: MemoryManager, params: ContentQueryParams) -> ContentQueryResult:
    """Find items by type, source, tags, time or text, newest first, without opening them."""
    run_id = params.run_id or params.criteria.run_id
    items = await memory.content(run_id).query(params.criteria)
    return ContentQueryResult.model_construct(items=tuple(items))


class ContentParams(Value):
    content_id: ContentId
    run_id: CallerId | None = None


class ContentResult(Value):
    item: ContentItem


async def get(memory: MemoryManager, params: ContentParams) -> ContentResult:
    """What is known of an item, without its content."""
    item = await memory.content(params.run_id).get(params.content_id)
    return ContentResult.model_construct(item=item)


class CiteParams(ContentParams):
    tokens: Annotated[int, Field(ge=1, le=100_000)] = CITATION_TOKENS


class CiteResult(Value):
    text: str
    citation: Citation


async def cite(memory: MemoryManager, params: CiteParams) -> CiteResult:
    """The citation that stands for an item in a conversation, in at most ``tokens`` tokens."""
    citation = await memory.content(params.run_id).cite(params.content_id, params.tokens)
    return CiteResult.model_construct(text=citation.text, citation=citation)


class ReadParams(ContentParams):
    number: Annotated[int, Field(ge=0, lt=2**31)] = 0


class ReadResult(Value):
    """``chunk`` is base64; null after the last one."""

    number: int
    chunk: str | None


async def read(memory: MemoryManager, params: ReadParams) -> ReadResult:
    """The bytes of an item, chunk by chunk: ask for number 0, 1, 2 … until there is none."""
    chunk = await memory.content(params.run_id).read_chunk(params.content_id, params.number)
    encoded = None if chunk is None else base64.b64encode(chunk).decode()
    return ReadResult.model_construct(number=params.number, chunk=encoded)


class ClearParams(Value):
    run_id: CallerId


class ClearResult(Value):
    cleared: int


async def clear(memory: MemoryManager, params: ClearParams) -> ClearResult:
    """Empty a run's store; the run's audit trail stays."""
    return ClearResult(cleared=await memory.content(params.run_id).clear())


def register(registry: Registry) -> None:
    for method in (
        Method("content.store", ContentStoreParams, ContentStoreResult, Scope.WRITE, store),
        Method(
            "content.retrieve", ContentRetrieveParams, ContentRetrieveResult, Scope.READ, retrieve
        ),
        Method("content.query", ContentQueryParams, ContentQueryResult, Scope.READ, query),
        Method("content.get", ContentParams, ContentResult, Scope.READ, get),
        Method("content.cite", CiteParams, CiteResult, Scope.READ, cite),
        Method("content.read", ReadParams, ReadResult, Scope.READ, read),
        Method("content.clear", ClearParams, ClearResult, Scope.WRITE, clear),
    ):
        registry.add(method)
