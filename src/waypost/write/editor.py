"""Correcting and erasing single memories."""

from __future__ import annotations

import logging
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, insert, select

from waypost.encode.by_model import Passage
from waypost.encode.text import Encoded, encode
from waypost.exceptions import DimensionMismatch, NotFound, ProviderError
from waypost.model import MemoryChanges, MemoryRecord
from waypost.store import memories, vectors
from waypost.store.tables import embeddings
from waypost.store.tables import memories as table
from waypost.tokens import count_tokens
from waypost.write.parts import WriteParts
from waypost.write.prepare import content_digest, embedded_text, index_terms, key_of

logger = logging.getLogger(__name__)


class Editor:
    """Edits for one agent."""

    def __init__(self, parts: WriteParts) -> None:
        self._database = parts.database
        self._embedder = parts.embedder
        self._agent_id = parts.agent_id
        self._clock = parts.clock
        self._encoder = parts.encoder
        self._on_waiting = parts.on_waiting

    async def update(
        self,
        memory_id: str,
        changes: MemoryChanges,
        *,
        expected_version: int | None = None,
        actor: str | None = None,
    ) -> MemoryRecord:
        """Change the fields that are set; new content is encoded and embedded again."""
        vector, encoded = await self._read(memory_id, changes)
        work = partial(
            self._apply,
            memory_id=memory_id,
            changes=changes,
            vector=vector,
            encoded=encoded,
            expected_version=expected_version,
            actor=actor,
        )
        record = await self._database.write(work, agent=self._agent_id)
        if changes.content is not None and vector is None:
            self._on_waiting()
        return record

    async def forget(self, memory_id: str, *, actor: str | None = None) -> None:
        """Delete a memory with its vector and links; NotFound when there is none."""
        work = partial(
            memories.remove,
            agent_id=self._agent_id,
            ids=[memory_id],
            now=self._clock(),
            actor=actor,
        )
        if not await self._database.write(work, agent=self._agent_id):
            raise NotFound(f"no memory {memory_id} for agent {self._agent_id!r}")

    async def _read(
        self, memory_id: str, changes: MemoryChanges
    ) -> tuple[NDArray[np.float32] | None, Encoded | None]:
        """The vector of new content, when it can be made now, and what is known of it."""
        if changes.content is None:
            return None, None
        record = await self._database.read(
            memories.get, self._agent_id, memory_id, agent=self._agent_id
        )
        encoded = await self._encode(changes.content, record.source)
        text = embedded_text(changes.content, record.source, record.timestamp)
        try:
            made = await self._embedder.embed_documents([text])
        except (ProviderError, DimensionMismatch) as error:
            logger.warning("changed without a vector, it follows later: %s", error)
            return None, encoded
        return made[0], encoded

    async def _encode(self, content: str, source: str | None) -> Encoded:
        if self._encoder is None:
            return encode(content, source=source)
        return (await self._encoder.encode([Passage(content, source)]))[0]

    def _apply(
        self,
        connection: Connection,
        *,
        memory_id: str,
        changes: MemoryChanges,
        vector: NDArray[np.float32] | None,
        encoded: Encoded | None,
        expected_version: int | None,
        actor: str | None,
    ) -> MemoryRecord:
        now = self._clock()
        record = memories.get(connection, self._agent_id, memory_id)
        memories.change(
            connection, self._agent_id, memory_id, _columns(record, changes, encoded),
            now=now, actor=actor, expected_version=expected_version,
        )  # fmt: skip
        if changes.links is not None:
            memories.replace_links(connection, self._agent_id, memory_id, changes.links)
        if changes.content is not None:
            self._replace_vector(connection, memory_id, vector, now)
        return memories.get(connection, self._agent_id, memory_id)

    def _replace_vector(
        self,
        connection: Connection,
        memory_id: str,
        vector: NDArray[np.float32] | None,
        now: datetime,
    ) -> None:
        row_id = connection.execute(
            select(table.c.row_id).where(table.c.memory_id == memory_id)
        ).scalar_one()
        name = self._embedder.name
        vectors.drop_vectors(connection, [row_id])
        if vector is None or not vectors.is_active(connection, name):
            vectors.enqueue(connection, self._agent_id, memory_id, row_id, now)
            return
        vectors.dequeue(connection, self._agent_id, memory_id)
        row = {"row_id": row_id, "embedder": name, "agent_id": self._agent_id, "vector": vector}
        connection.execute(insert(embeddings), row)


def _columns(
    record: MemoryRecord, changes: MemoryChanges, encoded: Encoded | None
) -> dict[str, Any]:
    """The columns to set: the changes, and what follows from new content."""
    given = changes.model_dump(mode="python", exclude_unset=True, exclude={"links"})
    columns = {**_following(record, changes, encoded), **given}
    for name in ("tags", "entities", "keywords"):
        if columns.get(name) is not None:
            columns[name] = list(columns[name])
    for name in ("type", "trust"):
        if columns.get(name) is not None:
            columns[name] = columns[name].value
    return columns


def _following(
    record: MemoryRecord, changes: MemoryChanges, encoded: Encoded | None
) -> dict[str, Any]:
    """The columns that follow from others."""
    type_, kind = changes.type or record.type, changes.kind or record.kind
    content = changes.content if changes.content is not None else record.content
    follows: dict[str, Any] = {
        "digest": content_digest(type_, content),
        "fact_key": key_of(kind, record.facts),
    }
    if encoded is None:
        return follows
    updated = record.model_copy(update={"content": content})
    return {
        **follows,
        "summary": encoded.summary,
        "entities": encoded.entities,
        "facts": [fact.model_dump(exclude_none=True) for fact in encoded.facts],
        "fact_key": key_of(kind, encoded.facts),
        "keywords": encoded.keywords,
        "token_count": count_tokens(content),
        "encoder": encoded.encoder,
        "fallback_reason": encoded.fallback_reason,
        "index_terms": index_terms(updated),
    }
