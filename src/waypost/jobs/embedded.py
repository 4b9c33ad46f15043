"""Jobs of a SQLite file, done inside the process that has it open.

A job is taken with a lease: of two processes on one file one gets it, and when that
one dies the other, or the next to open the file, does it.
"""

from __future__ import annotations

import asyncio
import logging

from waypost.exceptions import StorageError
from waypost.jobs.performer import Performer, PutOff

logger = logging.getLogger(__name__)

IDLE_SECONDS = 2.0


class EmbeddedWorker:
    """Looks for jobs while there are any, and sleeps until it is woken when there are none."""

    def __init__(self, performer: Performer) -> None:
        self._performer = performer
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def start(self) -> None:
        """Take up what an earlier process left."""
        if await self._performer.unfinished():
            self.wake()

    def wake(self) -> None:
        """A job was asked for here."""
        self._wake.set()
        if self._closed:
            return
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Give the job that runs back, and stop."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self._do_all_due()
                left = await self._performer.unfinished()
            except StorageError:
                logger.exception("the jobs could not be read")
                left = 1
            if left == 0 and not self._wake.is_set():
                return
            try:
                await asyncio.wait_for(self._wake.wait(), IDLE_SECONDS)
            except TimeoutError:
                continue

    async def _do_all_due(self) -> None:
        while (number := await self._performer.next_due()) is not None:
            try:
                await self._performer.perform(number, due=True)
            except PutOff:
                continue
