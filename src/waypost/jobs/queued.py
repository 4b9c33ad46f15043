"""Jobs of a PostgreSQL database, shared by all workers through procrastinate's queue.

The database hands new jobs to the queue itself (``store.queue_schema``); a worker is
told at once. A job is given to one worker at a time, and the jobs of one kind and
agent one after the other. Workers give signs of life; what a silent one had is given
to another. Jobs that ended leave the queue: our own row says what came of them.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.exceptions import (
    AlreadyEnqueued,
    JobAborted,
    ProcrastinateException,
    UniqueViolation,
)
from procrastinate.jobs import Job, Status
from procrastinate.worker import Worker
from psycopg_pool import PoolTimeout

from waypost.exceptions import StorageError
from waypost.jobs.performer import Performer, PutOff
from waypost.store.queue_schema import EMBED_TASK, JOB_TASK, QUEUE, SCHEMA
from waypost.write.queue import EmbeddingQueue

logger = logging.getLogger(__name__)

MOST_CONNECTIONS = 3
AT_ONCE = 2
SOON = timedelta(seconds=1)
LATER = "embed-later"
"""Keeps one planned embedding job beside the one that a new memory asks for."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: between signs of life, until silence means death, and to finish when closing."""

    heartbeat: float = 5.0
    silence: float = 20.0
    finishing: float = 5.0
    again: float = 10.0
    """After a failure of the worker itself, such as a lost connection."""


PACE = Pace()


class QueueWorker:
    """Does jobs from the queue until it is closed."""

    def __init__(
        self,
        conninfo: str,
        performer: Performer,
        vectors: EmbeddingQueue,
        *,
        pace: Pace | None = None,
    ) -> None:
        self._conninfo = conninfo
        self._performer = performer
        self._vectors = vectors
        self._pace = pace or PACE
        self._task: asyncio.Task[None] | None = None
        self._worker: Worker | None = None
        self._closing = asyncio.Event()

    async def start(self) -> None:
        """Begin to work, in the background."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    def wake(self) -> None:
        """Nothing to do: the database tells every worker."""

    async def close(self) -> None:
        """Finish what runs, or give it back, and stop."""
        self._closing.set()
        if self._worker is not None:
            self._worker.stop()  # type: ignore[no-untyped-call]
        if self._task is not None:
            # Asked to end rather than cancelled: drivers lose a cancellation now and then.
            await asyncio.wait({self._task}, timeout=2 * self._pace.finishing)
            self._task.cancel()

    async def _run(self) -> None:
        while not self._closing.is_set():
            try:
                await self._work(self._make_app())
            except (ProcrastinateException, PoolTimeout, OSError):
                logger.exception("the queue cannot be reached; trying again")
            await _pause(self._closing, self._pace.again)

    def _make_app(self) -> App:
        connector = PsycopgConnector(
            conninfo=self._conninfo,
            kwargs={"options": f"-c search_path={SCHEMA}"},
            min_size=1,
            max_size=MOST_CONNECTIONS,
        )
        app = App(connector=connector)

        @app.task(name=JOB_TASK, queue=QUEUE, retry=_Again())
        async def perform(number: int) -> None:
            await self._performer.perform(number)

        @app.task(name=EMBED_TASK, queue=QUEUE, retry=_Again())
        async def embed() -> None:
            await self._vectors.drain()
            await self._plan_vectors(app)

        return app

    async def _work(self, app: App) -> None:
        try:
            await app.open_async()
            if self._closing.is_set():
                return
            over = asyncio.Event()
            watching = asyncio.create_task(self._watch(app, over))
            try:
                self._worker = self._make_worker(app)
                await self._worker.run()  # type: ignore[no-untyped-call]
            finally:
                over.set()
                await watching
        finally:
            await app.close_async()

    def _make_worker(self, app: App) -> Worker:
        return Worker(
            app,
            queues=[QUEUE],
            concurrency=AT_ONCE,
            delete_jobs="always",
            install_signal_handlers=False,
            update_heartbeat_interval=self._pace.heartbeat,
            stalled_worker_timeout=self._pace.silence,
            shutdown_graceful_timeout=self._pace.finishing,
        )

    async def _watch(self, app: App, over: asyncio.Event) -> None:
        """Give what dead workers had to living ones, and see that no vector is forgotten."""
        while not over.is_set():
            try:
                for job in await app.job_manager.get_stalled_jobs(
                    seconds_since_heartbeat=self._pace.silence
                ):
                    await _give_back(app, job)
                await self._plan_vectors(app)
            except (ProcrastinateException, StorageError):
                logger.exception("the queue could not be looked through")
            await _pause(over, self._pace.heartbeat)

    async def _plan_vectors(self, app: App) -> None:
        """Have the vectors that wait made when the first of them is due."""
        wait = await self._vectors.wait()
        if wait is None:
            return
        due = datetime.now(UTC) + wait
        deferrer = app.configure_task(EMBED_TASK, queue=QUEUE, queueing_lock=LATER, schedule_at=due)
        with suppress(AlreadyEnqueued):
            await deferrer.defer_async()


async def _pause(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, but not longer than this."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


async def _give_back(app: App, job: Job) -> None:
    try:
        await app.job_manager.retry_job(job)
    except UniqueViolation:  # the same is waiting already
        await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)


class _Again(BaseRetryStrategy):
    """Jobs that must wait, and those that a closing worker had to leave, come again."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if isinstance(exception, PutOff):
            return RetryDecision(retry_at=datetime.now(UTC) + exception.wait)
        if isinstance(exception, asyncio.CancelledError | JobAborted | StorageError):
            return RetryDecision(retry_at=datetime.now(UTC) + SOON)
        return None
