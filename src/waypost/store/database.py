"""Running plain functions of a connection, off the event loop, in transactions.

Repository functions are synchronous and take a SQLAlchemy ``Connection`` first.
``Database`` runs them in threads: reads side by side, each in its own snapshot;
writes one transaction each. When ``write`` returns, the transaction is durable;
when it raises, nothing of it happened.

``agent`` names the tenant. On PostgreSQL it becomes the row-level-security
identity of the transaction; without it the call is maintenance across agents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine

from waypost.exceptions import StorageUnavailable
from waypost.store.failures import translated

T = TypeVar("T")


class Backend(Protocol):
    """What differs between the databases: engines, threads and the tenant of a transaction."""

    dialect: str
    location: str
    reading: Engine
    writing: Engine
    readers: int
    one_writer: bool
    """Writes have a thread of their own, so that they never contend inside a process."""

    def become(self, connection: Connection, agent: str | None, *, writing: bool) -> None:
        """Make the open transaction act for one agent, or for maintenance when None."""

    def prepare(self) -> None:
        """Bring the schema up to date; refuse a database that is not ours or is newer."""

    def index_vectors(self, embedder: str, dimension: int, *, alone: bool) -> None:
        """Make the database's own index of an embedder's vectors, where it has one.

        ``alone`` drops the indexes of all other embedders.
        """

    def compact(self) -> bool:
        """Give freed space back; True when deleted text is in no file of ours any more."""


class Database:
    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.dialect = backend.dialect
        self.location = backend.location
        self._readers: Executor = ThreadPoolExecutor(backend.readers, "waypost-read")
        self._writers: Executor = (
            ThreadPoolExecutor(1, "waypost-write") if backend.one_writer else self._readers
        )
        self._closed = False

    async def prepare(self) -> None:
        await self._run(self._writers, self._translated(self.backend.prepare))

    async def index_vectors(self, embedder: str, dimension: int, *, alone: bool = False) -> None:
        step = partial(self.backend.index_vectors, embedder, dimension, alone=alone)
        await self._run(self._writers, self._translated(step))

    async def compact(self) -> bool:
        return await self._run(self._writers, self._translated(self.backend.compact))

    async def read(self, work: Callable[..., T], *args: Any, agent: str | None = None) -> T:
        """Run ``work(connection, *args)`` in one read snapshot."""
        return await self._run(
            self._readers, lambda: self._transaction(agent, work, args, writing=False)
        )

    async def write(self, work: Callable[..., T], *args: Any, agent: str | None = None) -> T:
        """Run ``work(connection, *args)`` in one durable transaction."""
        return await self._run(
            self._writers, lambda: self._transaction(agent, work, args, writing=True)
        )

    def _transaction(
        self, agent: str | None, work: Callable[..., T], args: tuple[Any, ...], *, writing: bool
    ) -> T:
        engine = self.backend.writing if writing else self.backend.reading
        with translated(self.location), engine.begin() as connection:
            self.backend.become(connection, agent, writing=writing)
            return work(connection, *args)

    def _translated(self, step: Callable[[], T]) -> Callable[[], T]:
        def run() -> T:
            with translated(self.location):
                return step()

        return run

    async def _run(self, executor: Executor, call: Callable[[], T]) -> T:
        if self._closed:
            raise StorageUnavailable(f"the engine of {self.location} is closed; open it again")
        # A cancelled caller must not abandon a commit half-way through its own bookkeeping:
        # the thread finishes the transaction in any case.
        return await asyncio.get_running_loop().run_in_executor(executor, call)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await asyncio.to_thread(self._shutdown)

    def _shutdown(self) -> None:
        self._readers.shutdown(wait=True)
        self._writers.shutdown(wait=True)
        self.backend.reading.dispose()
        self.backend.writing.dispose()
