"""Doing one job: take it, run its step, record what came of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from waypost.exceptions import StorageError, WaypostError
from waypost.model.jobs import JobKind
from waypost.store import jobs
from waypost.store.database import Database
from waypost.store.jobs import Ticket
from waypost.store.vectors import retry_delay

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=30)
MOST_ATTEMPTS = 10

Step = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Takes the agent and what was asked for, gives the result. Twice has the effect of once."""


class PutOff(Exception):
    """The job is to be tried again after a wait."""

    def __init__(self, wait: timedelta) -> None:
        super().__init__(f"to be tried again in {wait.total_seconds():g} s")
        self.wait = wait


class Performer:
    """Does the jobs of one database."""

    def __init__(
        self, database: Database, steps: Mapping[JobKind, Step], *, clock: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._steps = steps
        self._clock = clock

    async def next_due(self) -> int | None:
        return await self._database.read(jobs.next_due, self._clock())

    async def unfinished(self) -> int:
        return await self._database.read(jobs.unfinished)

    async def perform(self, number: int, *, due: bool = False) -> None:
        """Do one job; nothing when it has ended or another worker has it. PutOff when it must wait.

        Cancelled in the middle, it gives the job back.
        """
        ticket = await self._database.write(jobs.begin, number, self._clock(), LEASE, due)
        if ticket is None:
            return
        keeping = asyncio.create_task(self._keep(number))
        try:
            result = await self._steps[ticket.kind](ticket.agent_id, ticket.payload)
        except asyncio.CancelledError:
            await self._database.write(jobs.put_off, number, self._clock(), None)
            raise
        except Exception as error:  # noqa: BLE001 - a job that fails must not end its worker
            await self._failed(ticket, error)
        else:
            await self._end(number, result=result)
        finally:
            keeping.cancel()

    async def _keep(self, number: int) -> None:
        """Renew the lease for as long as the job takes."""
        while True:
            await asyncio.sleep(LEASE.total_seconds() / 3)
            await self._database.write(jobs.extend, number, self._clock() + LEASE)

    async def _failed(self, ticket: Ticket, error: Exception) -> None:
        if not isinstance(error, WaypostError):
            logger.error("job %s failed", ticket.number, exc_info=error)
        message = _told(error)
        again = getattr(error, "retryable", False) and ticket.attempts < MOST_ATTEMPTS
        if not again:
            await self._end(ticket.number, error=message)
            return
        wait = retry_delay(ticket.attempts - 1)
        await self._database.write(jobs.put_off, ticket.number, self._clock() + wait, message)
        raise PutOff(wait)

    async def _end(
        self, number: int, *, result: dict[str, Any] | None = None, error: str | None = None
    ) -> None:
        await self._database.write(jobs.end, number, self._clock(), result, error)


def _told(error: Exception) -> str:
    """What the agent learns of a failure: our own words, or that it is in the log."""
    if isinstance(error, WaypostError) and not isinstance(error, StorageError):
        return error.message
    return f"{type(error).__name__}: see the log of the worker"
