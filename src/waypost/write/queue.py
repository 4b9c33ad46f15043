"""The embedding queue: vectors that could not be made at once are made later.

The queue is a table, so it survives a crash; this worker only empties it. Several
workers may share one database: a claimed job is left alone by the others until it is
done, given back, or its worker has been silent for the length of the lease. A text
that the embedder refuses is set apart, so that it does not hold up its neighbours.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter

from waypost.embed.port import Embedder, Vectors
from waypost.exceptions import DimensionMismatch, ProviderError, StorageError
from waypost.store import vectors
from waypost.store.database import Database
from waypost.store.vectors import Unembedded
from waypost.write.prepare import embedded_text

logger = logging.getLogger(__name__)

BATCH = 128
IDLE_SECONDS = 2.0
LOOK_SECONDS = 0.05


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

    async def wait(self) -> timedelta | None:
        """How long until the first of the vectors that wait may be tried; None when none waits."""
        due = await self._database.read(vectors.next_due)
        return None if due is None else max(timedelta(), due - self._clock())

    async def join(self) -> None:
        """Wait until the queue is empty, whoever empties it; in an outage that is until its end."""
        if self._task is not None:
            await asyncio.shield(self._task)
        while await self.wait() is not None:  # noqa: ASYNC110 - others may be emptying it
            await asyncio.sleep(LOOK_SECONDS)

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
        due = await self._database.write(vectors.claim, self._embedder.name, self._clock(), BATCH)
        try:
            return await self._embed(due) if due else 0
        except asyncio.CancelledError:
            await self._database.write(vectors.release, due, self._clock())
            raise

    async def _embed(self, items: Sequence[Unembedded]) -> int:
        texts = [embedded_text(item.content, item.source, item.timestamp) for item in items]
        try:
            made = await self._embedder.embed_documents(texts)
        except (ProviderError, DimensionMismatch) as error:
            if len(items) > 1 and not error.retryable:
                middle = len(items) // 2
                return await self._embed(items[:middle]) + await self._embed(items[middle:])
            await self._database.write(vectors.postpone, items, str(error), self._clock())
            return 0
        by_row = {item.row_id: vector for item, vector in zip(items, made, strict=True)}
        return await self._attach(items, by_row)

    async def _attach(self, items: Sequence[Unembedded], by_row: Mapping[int, Vectors]) -> int:
        """Store the vectors as a write of each agent, so that its change feed stays in order."""
        stored = 0
        by_agent = attrgetter("agent_id")
        for agent_id, own in groupby(sorted(items, key=by_agent), by_agent):
            stored += await self._database.write(
                vectors.attach, self._embedder.name, by_row, list(own), self._clock(),
                agent=agent_id,
            )  # fmt: skip
        return stored
