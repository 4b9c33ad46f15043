"""Content on its way in: as bytes, and described as the columns of an item."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Any

from waypost.content import blobs
from waypost.content.compaction import choose, compact
from waypost.content.material import Material
from waypost.exceptions import InvalidInput
from waypost.model import ContentType, Trust
from waypost.tokens import count_tokens

_EXACTLY_COUNTED = 2_000_000


def as_bytes(content: Any, media_type: str) -> tuple[bytes, str]:
    if isinstance(content, bytes):
        return content, media_type or "application/octet-stream"
    if isinstance(content, str):
        return content.encode("utf-8", "replace"), media_type
    try:
        text = json.dumps(content, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"content is text, bytes or a JSON value: {error}") from None
    return text.encode("utf-8", "replace"), media_type or "application/json"


async def stream(chunks: Iterable[bytes] | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The pieces joined to chunks of a useful size; an async source is read as it comes."""
    held = bytearray()
    async for piece in _pieces(chunks):
        held += piece
        if len(held) >= blobs.CHUNK_BYTES:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


async def _pieces(chunks: Iterable[bytes] | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    if isinstance(chunks, AsyncIterable):
        async for chunk in chunks:
            yield _piece(chunk)
    else:
        for chunk in chunks:
            yield _piece(chunk)


def _piece(chunk: Any) -> bytes:
    if isinstance(chunk, str):
        return chunk.encode("utf-8", "replace")
    if not isinstance(chunk, bytes | bytearray | memoryview):
        raise InvalidInput(f"a stream has pieces of bytes or text, not {type(chunk).__name__}")
    return bytes(chunk)


def describe(spool: blobs.Spool, is_text: bool, **details: Any) -> dict[str, Any]:
    """The item's columns. Token counts are exact up to a size, then extended from a sample."""
    source, media_type = details.pop("source"), details.pop("media_type")
    material = spool.material(media_type, source, is_text=is_text)
    compactor = choose(material)
    readable = not material.is_binary
    fields: dict[str, Any] = {
        "type": _content_type(details.pop("type")),
        "source": source,
        "media_type": media_type or ("text/plain" if readable else "application/octet-stream"),
        "digest": spool.digest,
        "size": spool.size,
        "characters": _characters(spool) if readable else None,
        "token_count": _tokens(spool, material) if readable else 0,
        "kind": compactor.name,
        "title": details.pop("title", None) or (compact(material).title if readable else None),
        "first_shown_step": None,
    }
    return fields | _checked_details(details)


def _content_type(name: str) -> str:
    try:
        return ContentType(name).value
    except ValueError:
        known = ", ".join(kind.value for kind in ContentType)
        raise InvalidInput(f"{name!r} is not a type of content; known are {known}") from None


def _characters(spool: blobs.Spool) -> int:
    return sum(map(len, blobs.as_text(zlib.decompress(chunk) for chunk in spool.chunks())))


def _tokens(spool: blobs.Spool, material: Material) -> int:
    if material.whole:
        return count_tokens(material.head)
    if spool.size > _EXACTLY_COUNTED:
        sample = material.head[:50_000]
        return round(count_tokens(sample) * spool.size / max(len(sample.encode()), 1))
    pieces = blobs.as_text(zlib.decompress(chunk) for chunk in spool.chunks())
    return count_tokens("".join(pieces))


_DETAILS: dict[str, Any] = {
    "tags": (),
    "related_to": (),
    "trust": "low",
    "is_error": False,
    "pinned": False,
    "metadata": {},
}


def _checked_details(details: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(details) - set(_DETAILS))
    if unknown:
        known = ", ".join(["title", *_DETAILS])
        raise InvalidInput(f"{unknown[0]!r} is not a detail of content; known are {known}")
    values = _DETAILS | details
    return values | {
        "tags": [str(tag) for tag in values["tags"]],
        "related_to": [str(other) for other in values["related_to"]],
        "trust": Trust(values["trust"]).value,
        "metadata": dict(values["metadata"]),
    }
