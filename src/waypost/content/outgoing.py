"""Content on its way out: an item as a transform's source, a view of it, its citation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection

from waypost.content import blobs, repository
from waypost.content.citation import Citation, cite
from waypost.content.material import Material, sampled
from waypost.content.transforms import Source, apply
from waypost.exceptions import InvalidInput, StorageCorrupt
from waypost.model import ContentItem, ContentView, Transform, TransformType
from waypost.tokens import count_tokens


def transform_of(transform: Transform | str | None, params: dict[str, Any]) -> Transform:
    if isinstance(transform, Transform):
        return transform
    names = [kind.value for kind in TransformType]
    name = transform or TransformType.FULL.value
    if name not in names:
        raise InvalidInput(f"{name!r} is not a transform; known are {', '.join(names)}")
    return Transform(type=TransformType(name), params=params)


def read_view(
    connection: Connection, agent_id: str, run_id: str | None, wanted: str, transform: Transform
) -> ContentView:
    item = repository.get(connection, agent_id, run_id, wanted)
    view = apply(transform, source_of_item(connection, item))
    return ContentView(
        item=item,
        transform=transform,
        text=view.text,
        token_count=count_tokens(view.text),
        truncated=view.truncated,
        note=view.note,
    )


def source_of_item(connection: Connection, item: ContentItem) -> Source:
    """An item as a transform reads it: its two ends, and its text in pieces."""
    material = material_of_item(connection, item)

    def pieces() -> Iterator[str]:
        return blobs.as_text(blobs.chunks_of(connection, item.agent_id, item.digest))

    return Source(material, pieces, item.characters or 0)


def read_material(
    connection: Connection, agent_id: str, run_id: str | None, wanted: str
) -> Material:
    return material_of_item(connection, repository.get(connection, agent_id, run_id, wanted))


def material_of_item(connection: Connection, item: ContentItem) -> Material:
    chunks = blobs.chunks_of(connection, item.agent_id, item.digest)
    first = next(chunks, None)
    if first is None:
        raise StorageCorrupt(f"the content of {item.content_id} is missing from the database")
    # Only the two ends are read: the first chunk, and the last one of a long item.
    last = (
        first
        if item.size <= blobs.CHUNK_BYTES
        else blobs.last_chunk(connection, item.agent_id, item.digest)
    )
    tail = last[-40_000:] if item.size > 400_000 else b""
    return sampled(
        first[:400_000],
        tail,
        item.size,
        media_type=item.media_type,
        source=item.source,
        is_text=item.characters is not None,
    )


def read_citation(
    connection: Connection, agent_id: str, run_id: str | None, wanted: str, tokens: int
) -> Citation:
    item = repository.get(connection, agent_id, run_id, wanted)
    material = material_of_item(connection, item)
    return cite(item.content_id, material, token_count=item.token_count, tokens=tokens)
