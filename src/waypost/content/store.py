"""One run's content: full results kept beside the conversation, read back through transforms.

    content = memory.content("run-7")
    item = await content.store(page, source="visit_page", media_type="text/html")
    view = await content.retrieve(item.content_id, "filtered", question="When was it built?")

The store is bound to one agent and one run. Contents are compressed, kept once however often they
are stored, and streamed: neither ``store_stream`` nor a transform ever holds a large one whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import ValidationError
from sqlalchemy import Connection

from waypost.content import blobs, repository
from waypost.content.citation import CITATION_TOKENS, Citation
from waypost.content.identifiers import normalise_id
from waypost.content.incoming import as_bytes, describe, stream
from waypost.content.material import Material
from waypost.content.outgoing import read_citation, read_material, read_view, transform_of
from waypost.exceptions import Forbidden, InvalidInput
from waypost.model import (
    ContentCriteria,
    ContentItem,
    ContentSnapshot,
    ContentType,
    ContentView,
    Transform,
    utc_now,
)
from waypost.store.database import Database

T = TypeVar("T")


class Access(StrEnum):
    """What a holder of a store may do with it."""

    WRITE = "write"
    READ = "read"


class ContentStore:
    """The content of one run of one agent."""

    def __init__(
        self,
        database: Database,
        agent_id: str,
        run_id: str | None,
        *,
        clock: Callable[[], datetime] = utc_now,
        access: Access = Access.WRITE,
    ) -> None:
        self.database = database
        self.agent_id = agent_id
        self.run_id = run_id
        self.clock = clock
        self.access = access

    async def store(
        self,
        content: str | bytes | Any,
        *,
        source: str = "",
        type: ContentType | str = ContentType.ACTION_RESULT,
        media_type: str = "",
        **details: Any,
    ) -> ContentItem:
        """Keep a text, bytes, or a value that JSON can hold. Durable when it returns.

        ``details`` are title, tags, related_to, trust, is_error, pinned and metadata.
        """
        self._check_writable()
        data, media = as_bytes(content, media_type)
        spool = await asyncio.to_thread(blobs.spooled, data)
        is_text = not isinstance(content, bytes)
        return await self._keep(
            spool, is_text, source=source, type=type, media_type=media, **details
        )

    async def store_stream(
        self,
        chunks: Iterable[bytes] | AsyncIterable[bytes],
        *,
        source: str = "",
        type: ContentType | str = ContentType.ACTION_RESULT,
        media_type: str = "",
        **details: Any,
    ) -> ContentItem:
        """Keep bytes that arrive in pieces, without ever holding them all."""
        self._check_writable()
        spool = blobs.Spool()
        try:
            async for chunk in stream(chunks):
                await asyncio.to_thread(spool.add, chunk)
            await asyncio.to_thread(spool.finish)
        except BaseException:
            spool.close()
            raise
        return await self._keep(
            spool, False, source=source, type=type, media_type=media_type, **details
        )

    async def retrieve(
        self, content_id: str, transform: Transform | str | None = None, **params: Any
    ) -> ContentView:
        """Read an item back; ``transform`` is one or its name, with its parameters."""
        wanted = transform_of(transform, params)
        identifier = normalise_id(content_id)
        return await self._read(read_view, self.run_id, identifier, wanted)

    async def get(self, content_id: str) -> ContentItem:
        """What is known of an item, without its content."""
        return await self._read(repository.get, self.run_id, normalise_id(content_id))

    async def query(
        self, criteria: ContentCriteria | None = None, **fields: Any
    ) -> list[ContentItem]:
        """Items of this run that meet the criteria, newest first."""
        try:
            wanted = criteria or ContentCriteria.model_validate(fields)
        except ValidationError as error:
            first = error.errors()[0]
            known = ", ".join(ContentCriteria.model_fields)
            place = ".".join(map(str, first["loc"]))
            raise InvalidInput(f"{place}: {first['msg']}; criteria are {known}") from None
        return await self._read(repository.find, self.run_id, wanted)

    async def cite(self, content_id: str, tokens: int = CITATION_TOKENS) -> Citation:
        """The citation that stands for an item in a conversation."""
        return await self._read(read_citation, self.run_id, normalise_id(content_id), tokens)

    async def sample(self, content_id: str) -> Material:
        """The two ends of an item, which is what compaction looks at."""
        return await self._read(read_material, self.run_id, normalise_id(content_id))

    async def open(self, content_id: str) -> AsyncIterator[bytes]:
        """The bytes of an item, chunk by chunk."""
        number = 0
        while (chunk := await self.read_chunk(content_id, number)) is not None:
            yield chunk
            number += 1

    async def read_chunk(self, content_id: str, number: int) -> bytes | None:
        """One chunk of an item's bytes; None after the last."""
        return await self._read(_chunk, self.run_id, normalise_id(content_id), number)

    async def clear(self) -> int:
        """Empty the store; returns how many items it held. The run's audit trail stays."""
        return await self._write(repository.clear, self._run(), self.clock())

    async def snapshot(self) -> ContentSnapshot:
        """What the store holds now, to be restored here or in another run of this agent."""
        items = await self._read(repository.newest, self._run(), 1_000_000)
        return ContentSnapshot(agent_id=self.agent_id, run_id=self._run(), items=tuple(items[::-1]))

    async def restore(self, snapshot: ContentSnapshot) -> None:
        """Make this store hold exactly what the snapshot does, under the same ids."""
        self._check_same_agent(snapshot)
        await self._write(repository.restore, self._run(), snapshot.items, self.clock())

    async def adopt(self, snapshot: ContentSnapshot) -> dict[str, str]:
        """Add the items of a snapshot that are not here yet; returns their old and new ids.

        Ids stay the same unless this run already uses one for other content.
        """
        self._check_same_agent(snapshot)
        return await self._write(repository.adopt, self._run(), snapshot.items)

    async def mark_shown(self, content_ids: Iterable[str], step: int) -> None:
        """Note when items were first put before the model."""
        await self._write(repository.mark_shown, self._run(), list(content_ids), step)

    def read_only(self) -> ContentStore:
        """The same content, for a holder that may look but not store, clear or restore."""
        return ContentStore(
            self.database, self.agent_id, self.run_id, clock=self.clock, access=Access.READ
        )

    async def _keep(self, spool: blobs.Spool, is_text: bool, **details: Any) -> ContentItem:
        self._check_writable()
        try:
            row = await asyncio.to_thread(describe, spool, is_text, **details)
            row |= {"agent_id": self.agent_id, "run_id": self._run(), "created_at": self.clock()}
            return await self.database.write(repository.add, row, spool, agent=self.agent_id)
        finally:
            spool.close()

    def _run(self) -> str:
        if self.run_id is None:
            raise InvalidInput("this store reads all runs; name a run to store, clear or restore")
        return self.run_id

    def _check_writable(self) -> None:
        if self.access is Access.READ:
            raise Forbidden("this content is shared read-only; ask the owner to store it")

    def _check_same_agent(self, snapshot: ContentSnapshot) -> None:
        if snapshot.agent_id != self.agent_id:
            raise Forbidden("a snapshot can only be restored for the agent it was taken from")

    async def _read(self, work: Callable[..., T], *args: Any) -> T:
        return await self.database.read(work, self.agent_id, *args, agent=self.agent_id)

    async def _write(self, work: Callable[..., T], *args: Any) -> T:
        self._check_writable()
        return await self.database.write(work, self.agent_id, *args, agent=self.agent_id)


def _chunk(
    connection: Connection, agent_id: str, run_id: str | None, content_id: str, number: int
) -> bytes | None:
    item = repository.get(connection, agent_id, run_id, content_id)
    return blobs.chunk(connection, agent_id, item.digest, number)
