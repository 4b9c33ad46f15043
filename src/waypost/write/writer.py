"""Storing memories: encode, embed, one transaction.

An embedder that fails never loses or refuses a write: the memory is stored, can
be found by its words at once, and waits in the durable queue for its vector.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray

from waypost.encode.by_model import Passage
from waypost.encode.interaction import split_interaction
from waypost.encode.text import Encoded, encode
from waypost.exceptions import DimensionMismatch, ProviderError
from waypost.model import Interaction, LinkKind, MemoryLink, NewMemory, Stored
from waypost.store import storing
from waypost.store.rows import PreparedMemory
from waypost.write.parts import WriteParts
from waypost.write.prepare import body_digest, embedded_text, prepare

logger = logging.getLogger(__name__)

PREPARE_IN_THREAD = 32
"""Batches larger than this are encoded off the event loop."""


class Writer:
    """Writes for one agent."""

    def __init__(self, parts: WriteParts) -> None:
        self._database = parts.database
        self._embedder = parts.embedder
        self._agent_id = parts.agent_id
        self._clock = parts.clock
        self._encoder = parts.encoder
        self._on_waiting = parts.on_waiting

    async def add(self, batch: Sequence[NewMemory], *, actor: str | None = None) -> list[Stored]:
        """Store a batch, all or nothing; the receipts come in its order."""
        prepared = await self._prepare(batch, await self._read(batch))
        return await self._store(prepared, actor=actor)

    async def add_interaction(
        self, interaction: Interaction, *, actor: str | None = None
    ) -> Stored:
        """Store an exchange and what follows from it: its facts and what worked."""
        prepared = _linked(await self._prepare_interaction(interaction))
        if interaction.idempotency_key is not None:
            prepared[0] = replace(
                prepared[0],
                idempotency_key=interaction.idempotency_key,
                body_digest=body_digest(interaction),
            )
        first, *derived = await self._store(prepared, actor=actor, as_one=True)
        return first.model_copy(
            update={
                "derived": tuple(s.memory for s in derived if not s.duplicate),
                "superseded": tuple(i for s in (first, *derived) for i in s.superseded),
            }
        )

    async def _read(self, batch: Sequence[NewMemory]) -> list[Encoded] | None:
        """What a model finds in the texts; None when none is asked and all is done locally."""
        if self._encoder is None:
            return None
        return await self._encoder.encode([Passage(new.content, new.source) for new in batch])

    async def _prepare_interaction(self, interaction: Interaction) -> list[PreparedMemory]:
        local = split_interaction(interaction)
        read = await self._read(local[:1])
        if read is None or read[0].fallback_reason is not None:
            flagged = None if read is None else [_flagged(new, read[0]) for new in local]
            return await self._prepare(_placed(local, interaction), flagged)
        memories = split_interaction(interaction, read[0].facts)
        encoded = [read[0], *(_flagged(new, read[0]) for new in memories[1:])]
        return await self._prepare(_placed(memories, interaction), encoded)

    async def _prepare(
        self, batch: Sequence[NewMemory], encoded: Sequence[Encoded] | None = None
    ) -> list[PreparedMemory]:
        now = self._clock()
        work = partial(_prepare_all, batch, encoded, self._agent_id, now)
        prepared = work() if len(batch) <= PREPARE_IN_THREAD else await asyncio.to_thread(work)
        return await self._embed(prepared, batch)

    async def _embed(
        self, prepared: list[PreparedMemory], batch: Sequence[NewMemory]
    ) -> list[PreparedMemory]:
        given = {i: new.embedding for i, new in enumerate(batch) if new.embedding is not None}
        ready = {i: self._checked(vector) for i, vector in given.items()}
        missing = [i for i in range(len(prepared)) if i not in ready]
        texts = [_text(prepared[i]) for i in missing]
        try:
            vectors = await self._embedder.embed_documents(texts) if texts else ()
        except (ProviderError, DimensionMismatch) as error:
            logger.warning("stored without vectors, they follow later: %s", error)
            vectors = ()
        ready.update(zip(missing, vectors, strict=False))
        return [replace(item, vector=ready.get(i)) for i, item in enumerate(prepared)]

    def _checked(self, vector: Sequence[float]) -> NDArray[np.float32]:
        array = np.asarray(vector, dtype=np.float32)
        length = float(np.linalg.norm(array))
        if array.shape != (self._embedder.dimension,):
            raise DimensionMismatch(
                f"the embedding has {len(vector)} dimensions, but {self._embedder.name} has "
                f"{self._embedder.dimension}",
                expected=self._embedder.dimension,
                found=len(vector),
            )
        if not np.isfinite(length) or length == 0:
            raise DimensionMismatch("the embedding is zero or not finite and has no direction")
        unit: NDArray[np.float32] = array / length
        return unit

    async def _store(
        self, prepared: Sequence[PreparedMemory], *, actor: str | None, as_one: bool = False
    ) -> list[Stored]:
        work = partial(
            storing.store,
            agent_id=self._agent_id,
            batch=prepared,
            embedder=self._embedder.name,
            now=self._clock(),
            actor=actor,
            as_one=as_one,
        )
        rows = await self._database.write(work, agent=self._agent_id)
        if not all(row.embedded for row in rows):
            self._on_waiting()
        return [
            Stored.model_construct(
                memory=row.record,
                derived=(),
                superseded=row.superseded,
                duplicate=row.duplicate,
                embedded=row.embedded,
            )
            for row in rows
        ]


def _prepare_all(
    batch: Sequence[NewMemory], encoded: Sequence[Encoded] | None, agent_id: str, now: datetime
) -> list[PreparedMemory]:
    found: Sequence[Encoded | None] = encoded or [None] * len(batch)
    return [prepare(new, agent_id, now, one) for new, one in zip(batch, found, strict=True)]


def _flagged(new: NewMemory, read: Encoded) -> Encoded:
    """A memory that follows from a text is encoded locally and says who read that text."""
    local = encode(new.content, source=new.source)
    return replace(local, encoder=read.encoder, fallback_reason=read.fallback_reason)


def _placed(memories: Sequence[NewMemory], interaction: Interaction) -> list[NewMemory]:
    """The memories of an exchange, all where and when it happened."""
    place = {
        name: getattr(interaction, name)
        for name in ("task_id", "project_id", "run_id", "stage_id", "timestamp", "tags", "metadata")
    }
    return [new.model_copy(update=place) for new in memories]


def _text(item: PreparedMemory) -> str:
    record = item.record
    return embedded_text(record.content, record.source, record.timestamp)


def _linked(prepared: list[PreparedMemory]) -> list[PreparedMemory]:
    """Give each derived memory a link to the exchange it came from."""
    parent = MemoryLink(kind=LinkKind.PARENT, target_id=prepared[0].record.memory_id)
    for position in range(1, len(prepared)):
        record = prepared[position].record
        prepared[position] = replace(
            prepared[position], record=record.model_copy(update={"links": (*record.links, parent)})
        )
    return prepared
