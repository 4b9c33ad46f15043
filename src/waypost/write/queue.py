"""The embedding queue: vectors that could not be made at once are made later.

The queue is a table, so it survives a crash; this worker only empties it. Several
workers on one database are safe: a vector stored twice is the same vector, and on
PostgreSQL a job that one worker holds is skipped by the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

from waypost.embed.port import Embedder
from waypost.exceptions import ProviderError, StorageError
from waypost.store import vectors
from waypost.store.database import Database
from waypost.write.prepare import embedded_text

logger = logging.getLogger(__name__)

BATCH = 128
IDLE_SECONDS = 2.0


class EmbeddingQueue:
    def __init__(
        self, database: Database, embedder: Embedder, *, clock: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._clock = clock
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def kick(self) -> None:
        """Make the worker look at the queue soon; start it when it is not running."""
        self._wake.set()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def drain(self) -> int:
        """Embed everything that is due now; how many vectors were stored."""
        total = 0
        while done := await self._step():
            total += done
        return total

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self.drain()
                depth, _, _ = await self._database.read(vectors.queue_state)
            except StorageError:
                logger.exception("the embedding queue could not be read")
                depth = 1
            if depth == 0 and not self._wake.is_set():
                return
            try:
                await asyncio.wait_for(self._wake.wait(), IDLE_SECONDS)
            except TimeoutError:
                continue

    async def _step(self) -> int:
        due = await self._database.read(vectors.waiting, self._clock(), BATCH)
        if not due:
            return 0
        texts = [embedded_text(item.content, item.source, item.timestamp) for item in due]
        try:
            made = await self._embedder.embed_documents(texts)
        except ProviderError as error:
            await self._database.write(vectors.postpone, due, str(error), self._clock())
            return 0
        by_row = {item.row_id: vector for item, vector in zip(due, made, strict=True)}
        return await self._database.write(
            vectors.attach, self._embedder.name, by_row, due, self._clock()
        )
