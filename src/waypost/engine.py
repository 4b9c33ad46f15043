"""Opening a memory: the one place that chooses concrete parts and wires them.

    engine = await waypost.open("notes.db")
    memory = engine.agent("planner")

The URL picks the store: a path or ``sqlite:///path`` for a file, ``:memory:`` for
a throw-away one, ``postgresql://…`` for a server. An engine owns the threads,
connections and background work of one database; close it, or use ``async with``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from waypost.chat import ChatModel, chat_model_from_url
from waypost.context.assembler import Cautions, ContextAssembler
from waypost.context.gather import Caution
from waypost.embed import embedder_from_url
from waypost.embed.cached import CachedEmbedder
from waypost.embed.guarded import GuardedEmbedder
from waypost.embed.port import Embedder
from waypost.encode.by_model import ModelEncoder
from waypost.errors.patterns import caution_text, error_text
from waypost.errors.severity import SEVERE
from waypost.errors.strategy import Strategist
from waypost.errors.tracker import ErrorTracker
from waypost.exceptions import InvalidInput, StorageError
from waypost.jobs.asking import AgentJobs
from waypost.jobs.embedded import EmbeddedWorker
from waypost.jobs.performer import Performer
from waypost.jobs.steps import steps_for
from waypost.memory import MemoryManager, Parts
from waypost.model import CallerId, ErrorPattern, ErrorRecord, NewMemory, Stored, utc_now
from waypost.model.base import Value
from waypost.model.retention import RetentionPolicy
from waypost.retention.keeper import Bounds
from waypost.retention.objects import ObjectStore, object_store
from waypost.retrieve.access_tracker import AccessTracker
from waypost.retrieve.retriever import Retriever
from waypost.retrieve.search import Search
from waypost.stages.compressor import CompressionConfig, ContextCompressor
from waypost.stages.manager import StageManager
from waypost.stages.tasks import TaskManager
from waypost.store import statistics, vectors
from waypost.store.database import Backend, Database
from waypost.store.embedding_cache import DatabaseEmbeddingCache
from waypost.task_memory import TaskParts
from waypost.tiers.promotion import Promoter
from waypost.validation import checked
from waypost.working import working_memory
from waypost.write.editor import Editor
from waypost.write.parts import WriteParts
from waypost.write.queue import EmbeddingQueue
from waypost.write.reembed import Progress, move_vectors
from waypost.write.writer import Writer

if TYPE_CHECKING:
    from waypost.jobs.queued import QueueWorker

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 1.0
CACHED_IN_PROCESS = 256


class _Agent(Value):
    agent_id: CallerId


class Engine:
    """One open database and everything that works on it."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        search: Search,
        *,
        bounds: Bounds,
        clock: Callable[[], datetime],
        chat: ChatModel | None = None,
        encoder: ModelEncoder | None = None,
        compression: CompressionConfig | None = None,
    ) -> None:
        self.database = database
        self.bounds = bounds
        self.chat = chat
        self.encoder = encoder
        self.compression = compression or CompressionConfig()
        self.embedder = embedder
        self.search = search
        self.clock = clock
        self.queue = EmbeddingQueue(database, embedder, clock=clock)
        self.tracker = AccessTracker(database)
        self.on_cache_lookup: Callable[[int, int], None] = lambda hits, misses: None
        """Told of texts that were looked up before embedding: remembered ones, and others."""
        self.worker = self._worker()
        self._flusher: asyncio.Task[None] | None = None
        self._closed = False

    def agent(self, agent_id: str) -> MemoryManager:
        """The memory of one agent. It cannot reach another agent's by any argument."""
        checked(_Agent, {"agent_id": agent_id})
        reading: dict[str, Any] = {"clock": self.clock, "tracker": self.tracker}
        embedder = self._embedder_of(agent_id)
        retriever = Retriever(self.database, self.search, embedder, agent_id, **reading)
        writing = WriteParts(
            self.database, embedder, agent_id, self.clock, self.encoder, self._vectors_wait
        )
        writer = Writer(writing)
        tasks = self._task_parts(agent_id, writer)
        keeper = self.bounds.keeper(self.database, agent_id, index=self.search, clock=self.clock)
        parts = Parts(
            database=self.database,
            writer=writer,
            editor=Editor(writing),
            retriever=retriever,
            assembler=ContextAssembler(
                self.database, retriever, agent_id, cautions=_cautions(tasks.errors), **reading
            ),
            keeper=keeper,
            promoter=Promoter(self.database, writer, agent_id, clock=self.clock),
            working=self.bounds.working,
            tasks=tasks,
            jobs=AgentJobs(
                self.database,
                agent_id,
                tasks=tasks.tasks,
                keeper=keeper,
                wake=self.worker.wake,
                clock=self.clock,
            ),
            clock=self.clock,
        )
        return MemoryManager(agent_id, parts)

    def _task_parts(self, agent_id: str, writer: Writer) -> TaskParts:
        """What follows the tasks of one agent."""
        database, clock = self.database, self.clock

        async def remember(new: NewMemory) -> Stored:
            return (await writer.add([new]))[0]

        errors = ErrorTracker(database, agent_id, remember, clock=clock)
        compressor = ContextCompressor(
            database, agent_id, chat=self.chat, config=self.compression, clock=clock
        )
        stages = StageManager(database, agent_id, compressor, clock=clock)
        tasks = TaskManager(
            database, agent_id, stages, compressor, open_patterns=errors.open_patterns, clock=clock
        )
        strategy = Strategist(database, agent_id, clock=clock)
        return TaskParts(tasks, stages, compressor, errors, strategy)

    def _embedder_of(self, agent_id: str) -> Embedder:
        """The embedder as one agent has it: what costs a call is remembered, for it alone."""
        if not getattr(self.embedder, "costly", False):
            return self.embedder
        cache = DatabaseEmbeddingCache(self.database, agent_id, clock=self.clock)
        return CachedEmbedder(
            self.embedder,
            capacity=CACHED_IN_PROCESS,
            cache=cache,
            on_lookup=lambda hits, misses: self.on_cache_lookup(hits, misses),
        )

    def _worker(self) -> EmbeddedWorker | QueueWorker:
        """Who does the background jobs of this database."""
        performer = Performer(self.database, steps_for(self.agent), clock=self.clock)
        conninfo = getattr(self.database.backend, "conninfo", None)
        if conninfo is None:
            return EmbeddedWorker(performer)
        from waypost.jobs.queued import QueueWorker

        return QueueWorker(conninfo, performer, self.queue)

    def _vectors_wait(self) -> None:
        """See that waiting vectors are made; PostgreSQL has told its workers itself."""
        if isinstance(self.worker, EmbeddedWorker):
            self.queue.kick()

    async def agents(self) -> list[str]:
        """Every agent that has memories here."""
        return await self.database.read(statistics.agents)

    async def start(self) -> None:
        """Begin the background work: jobs, waiting vectors and access counts."""
        await self.worker.start()
        depth, _, _ = await self.database.read(vectors.queue_state)
        if depth:
            self._vectors_wait()
        self._flusher = asyncio.get_running_loop().create_task(self._flush_regularly())

    async def close(self) -> None:
        """Finish background work and let go of the database. Closing twice is allowed."""
        if self._closed:
            return
        self._closed = True
        if self._flusher is not None:
            self._flusher.cancel()
            await asyncio.gather(self._flusher, return_exceptions=True)
        await self.worker.close()
        await self.queue.close()
        try:
            await self.tracker.flush()
        except StorageError:
            logger.exception("the last access counts were not written")
        await self.bounds.working.aclose()
        await asyncio.to_thread(self.search.close)
        await self.database.close()
        await self.embedder.aclose()
        if self.chat is not None:
            await self.chat.aclose()

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _flush_regularly(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            if self.tracker.pending:
                try:
                    await self.tracker.flush()
                except StorageError:
                    logger.exception("access counts were not written")


class Opening:
    """An engine that is being opened: ``await`` it, or enter it with ``async with``."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._engine: Engine | None = None

    def __await__(self) -> Generator[Any, None, Engine]:
        return self._make().__await__()  # type: ignore[no-any-return]

    async def __aenter__(self) -> Engine:
        self._engine = await self._make()
        assert self._engine is not None
        return self._engine

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._engine is not None:
            await self._engine.close()


def open(
    url: str | Path = "waypost.db",
    *,
    embedder: str | Embedder = "local",
    archive_url: str | None = None,
    redis_url: str | None = None,
    retention: RetentionPolicy | None = None,
    chat: str | ChatModel | None = None,
    chat_key: str | None = None,
    encoder: Literal["local", "model"] = "local",
    compression: CompressionConfig | None = None,
    clock: Callable[[], datetime] = utc_now,
    **options: Any,
) -> Opening:
    """Open a memory. A file that does not exist is created; nothing else is ever set up.

    ``embedder`` is an embedder or its URL ("local", "openai:text-embedding-3-small", …);
    ``options`` go to the embedder that a URL names (api_key, base_url, …).
    ``archive_url`` is where pruned memories go: a folder or an object-store URL, by default
    a folder beside the file. ``retention`` sets capacities; by default there are none.
    ``redis_url`` shares working memory between processes. ``chat`` is a chat model, or the
    address of one ("openai:gpt-4o-mini", …), that words summaries; without one they are made
    locally. ``compression`` sets how short they are. With ``encoder="model"`` that chat model
    also reads every memory that is stored; what it cannot read is read locally, and says so.
    """
    model = chat_model_from_url(chat, api_key=chat_key) if isinstance(chat, str) else chat
    reader = _encoder(encoder, model)
    chosen = _embedder(embedder, options)

    def bounds(backend: Backend) -> Bounds:
        return Bounds(
            objects=objects_for(backend, archive_url),
            working=working_memory(redis_url),
            policy=retention or RetentionPolicy(),
        )

    hierarchy = {"chat": model, "encoder": reader, "compression": compression}
    return Opening(lambda: _open(str(url), chosen, bounds, clock, **hierarchy))


def _embedder(choice: str | Embedder, options: dict[str, Any]) -> Embedder:
    """The embedder of an address, or the caller's own, held to the port."""
    if isinstance(choice, str):
        return embedder_from_url(choice, **options)
    if options:
        raise InvalidInput(f"unknown options {sorted(options)}; an embedder was given ready-made")
    return GuardedEmbedder(choice)


def _encoder(choice: str, chat: ChatModel | None) -> ModelEncoder | None:
    if choice not in ("local", "model"):
        raise InvalidInput(f"{choice!r} is no encoder; choose 'local' or 'model'")
    if choice == "local":
        return None
    if chat is None:
        raise InvalidInput("encoder='model' needs a chat model; name one with chat= (WAYPOST_CHAT)")
    return ModelEncoder(chat)


def objects_for(backend: Backend, archive_url: str | None) -> ObjectStore:
    """Where the archive of a database lies."""
    path = getattr(backend, "path", None)
    in_memory = bool(getattr(backend, "in_memory", False))
    return object_store(archive_url, path, in_memory=in_memory)


def _cautions(errors: ErrorTracker) -> Cautions:
    """A task's open error patterns and unresolved severe errors, as the context says them."""

    async def read(task_id: str | None) -> list[Caution]:
        patterns = await errors.open_patterns(task_id)
        repeated = {pattern.signature for pattern in patterns}
        severe = await errors.severe_errors(task_id)
        return [
            *map(_repeated, patterns),
            *(_severe(error) for error in severe if error.signature not in repeated),
        ]

    return read


def _repeated(pattern: ErrorPattern) -> Caution:
    return Caution(
        caution_id=pattern.error_ids[-1],
        text=caution_text(pattern),
        last_seen=pattern.last_seen,
        severity=pattern.max_severity,
        pinned=pattern.max_severity >= SEVERE,
    )


def _severe(error: ErrorRecord) -> Caution:
    return Caution(
        caution_id=error.memory_id or error.error_id,
        text=error_text(error),
        last_seen=error.recorded_at,
        severity=error.error_severity,
        reason="a severe error of this task that is not resolved",
        pinned=True,
    )


async def _open(
    url: str,
    embedder: Embedder,
    bounds: Callable[[Backend], Bounds],
    clock: Callable[[], datetime],
    **hierarchy: Any,
) -> Engine:
    backend = backend_for(url)
    database = Database(backend)
    try:
        await database.prepare()
        await database.write(vectors.claim_embedder, embedder.name, embedder.dimension, clock())
        await database.index_vectors(embedder.name, embedder.dimension)
        engine = Engine(
            database,
            embedder,
            search_for(database, embedder),
            bounds=bounds(backend),
            clock=clock,
            **hierarchy,
        )
        await engine.start()
    except BaseException:
        await database.close()
        raise
    return engine


async def reembed(
    url: str | Path,
    embedder: str | Embedder,
    *,
    progress: Progress = lambda done, total: None,
    clock: Callable[[], datetime] = utc_now,
    **options: Any,
) -> int:
    """Move a memory to another embedder; how many vectors were made.

    Reads and writes of other engines go on meanwhile. When it is interrupted or the
    embedder fails, the old vectors stay in use and the next call goes on where this one
    stopped. Afterwards open the memory with the new embedder: engines that still have the
    old one search by words only, and say so.
    """
    chosen = _embedder(embedder, options)
    database = Database(backend_for(str(url)))
    try:
        await database.prepare()
        return await move_vectors(database, chosen, now=clock, progress=progress)
    finally:
        await database.close()
        if isinstance(embedder, str):
            await chosen.aclose()


def backend_for(url: str) -> Backend:
    """The database that a URL names."""
    if url.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        from waypost.store.postgres import PostgresBackend

        return PostgresBackend(url.replace("postgres://", "postgresql://", 1))
    if "://" in url and not url.startswith("sqlite:///"):
        raise InvalidInput(
            f"{url!r} names no store that Waypost knows; use a file path, sqlite:///path, "
            ":memory: or postgresql://user@host/database"
        )
    from waypost.store.sqlite import SqliteBackend

    return SqliteBackend(url.removeprefix("sqlite:///") or ":memory:")


def search_for(database: Database, embedder: Embedder) -> Search:
    """The index that belongs to a database."""
    if database.dialect == "postgresql":
        from waypost.retrieve.postgres import PostgresSearch

        return PostgresSearch(embedder.name, embedder.dimension)
    from waypost.retrieve.embedded import EmbeddedSearch

    path = getattr(database.backend, "path", None)
    folder = None if path is None else path.with_name(path.name + ".index")
    return EmbeddedSearch(embedder.name, folder)
