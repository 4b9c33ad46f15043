"""The same memory without ``async``: every method waits for its twin.

    engine = waypost.sync.open("notes.db")          # or waypost.sync.connect(address, token=…)
    memory = engine.agent("planner")
    memory.add_interaction("Which port does staging use?", "Port 8443.")

One background thread runs an event loop; each call hands its work over and waits.
Any number of threads may call at once. There is no second implementation here:
what a method does, and what it raises, is said in ``MemoryManager``.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from waypost.model import (
    HistoryEntry,
    Interaction,
    MemoryChanges,
    MemoryRecord,
    MemoryType,
    NewMemory,
    Recall,
    RecallRequest,
    Stored,
    Tier,
)
from waypost.model.context import ContextPackage, ContextRequest
from waypost.model.profile import AgentProfile
from waypost.model.retention import ErasureReport, PruneReport, RestoreReport, Strategy

if TYPE_CHECKING:
    from waypost.memory import MemoryManager
    from waypost.store.statistics import AgentStatistics
    from waypost.working import WorkingEntry

T = TypeVar("T")


class Runner:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="waypost", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work in the loop's thread and wait for it."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("the blocking facade cannot be used inside its own event loop")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def open(url: str | Path = "waypost.db", **options: Any) -> Engine:
    """Open a memory, as ``waypost.open`` does; close it, or use ``with``."""
    from waypost.engine import open as open_engine

    async def opened() -> Any:
        return await open_engine(url, **options)

    return Engine._start(opened)


def connect(address: str, *, token: str, **options: Any) -> Engine:
    """Use the memory of a service, as ``waypost.Client`` does."""
    from waypost.client import Client

    async def connected() -> Any:
        return Client(address, token=token, **options)

    return Engine._start(connected)


class Engine:
    """One open memory: an engine, or a client, that waits."""

    def __init__(self, runner: Runner, engine: Any) -> None:
        self._runner = runner
        self._engine = engine
        self._closed = False

    @classmethod
    def _start(cls, make: Callable[[], Coroutine[Any, Any, Any]]) -> Engine:
        runner = Runner()
        try:
            return cls(runner, runner.run(make()))
        except BaseException:
            runner.close()
            raise

    def agent(self, agent_id: str) -> Memory:
        """The memory of one agent. It cannot reach another agent's by any argument."""
        return Memory(self._runner, self._engine.agent(agent_id))

    def agents(self) -> list[str]:
        """Every agent that has memories here. A client cannot know."""
        found: list[str] = self._runner.run(self._engine.agents())
        return found

    def close(self) -> None:
        """Finish background work and let go of everything. Closing twice is allowed."""
        if not self._closed:
            self._closed = True
            self._runner.run(self._engine.close())
            self._runner.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Blocking:
    """Any object of the library, with its coroutines turned into calls that wait."""

    def __init__(self, runner: Runner, wrapped: Any) -> None:
        self._runner = runner
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._wrapped, name)
        return _blocking(self._runner, value)


def _blocking(runner: Runner, value: Any) -> Any:
    """What a caller without a loop can use: values as they are, coroutines waited for."""
    if inspect.iscoroutine(value):
        return _blocking(runner, runner.run(value))
    if isinstance(value, AsyncIterator):
        return _iterated(runner, value)
    if inspect.ismethod(value):
        return lambda *args, **kwargs: _blocking(runner, value(*args, **kwargs))
    return Blocking(runner, value) if _is_facade(value) else value


def _is_facade(value: Any) -> bool:
    """True for the parts of a memory that have coroutines of their own, such as its tiers."""
    kind = type(value)
    return kind.__module__.startswith("waypost.") and any(
        inspect.iscoroutinefunction(member) for member in vars(kind).values()
    )


def _iterated(runner: Runner, items: AsyncIterator[T]) -> Iterator[T]:
    while True:
        try:
            yield runner.run(_next(items))
        except StopAsyncIteration:
            return


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)


class Memory(Blocking):
    """The memory of one agent. The methods are those of ``MemoryManager``, word for word."""

    agent_id: str
    _wrapped: MemoryManager

    def add_interaction(
        self, query: str | Interaction, response: str | None = None, **details: Any
    ) -> Stored:
        """Remember one exchange, with the facts in it and, when it went well, how it was done."""
        return self._runner.run(self._wrapped.add_interaction(query, response, **details))

    def add_memory(self, content: str | NewMemory, **details: Any) -> Stored:
        """Remember one text. ``details`` are the other fields of ``NewMemory``."""
        return self._runner.run(self._wrapped.add_memory(content, **details))

    def add_memories(self, batch: Iterable[NewMemory | Mapping[str, Any]]) -> list[Stored]:
        """Remember many texts in one transaction: all of them, or none."""
        return self._runner.run(self._wrapped.add_memories(batch))

    def retrieve_memories(
        self,
        query: str | RecallRequest,
        k: int = 5,
        *,
        now: datetime | None = None,
        track_access: bool = True,
        **filters: Any,
    ) -> Recall:
        """Recall the memories that matter for a question, each with its reasons."""
        return self._runner.run(
            self._wrapped.retrieve_memories(query, k, now=now, track_access=track_access, **filters)
        )

    def get_relevant_context(
        self,
        query: str | ContextRequest,
        task_id: str | None = None,
        max_tokens: int = 2000,
        **details: Any,
    ) -> ContextPackage:
        """The few tokens that matter now, as text to put before a model. Never over budget."""
        return self._runner.run(
            self._wrapped.get_relevant_context(query, task_id, max_tokens, **details)
        )

    def get_memory(self, memory_id: str) -> MemoryRecord:
        """One memory by its id; NotFound when this agent has none."""
        return self._runner.run(self._wrapped.get_memory(memory_id))

    def list_memories(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        order_by: str = "timestamp",
        limit: int = 100,
    ) -> list[MemoryRecord]:
        """Memories that match a filter, newest first; ``-`` before the field reverses."""
        return self._runner.run(self._wrapped.list_memories(where, order_by=order_by, limit=limit))

    def count_memories(self, where: Mapping[str, Any] | None = None) -> int:
        return self._runner.run(self._wrapped.count_memories(where))

    def update_memory(
        self,
        memory_id: str,
        changes: MemoryChanges | None = None,
        *,
        expected_version: int | None = None,
        actor: str | None = None,
        **fields: Any,
    ) -> MemoryRecord:
        """Change the given fields; history keeps what they held before."""
        return self._runner.run(
            self._wrapped.update_memory(
                memory_id,
                changes,
                expected_version=expected_version,
                actor=actor,
                **fields,
            )
        )

    def forget_memory(self, memory_id: str, *, actor: str | None = None) -> None:
        """Delete one memory; NotFound when this agent has none."""
        self._runner.run(self._wrapped.forget_memory(memory_id, actor=actor))

    def get_history(self, memory_id: str) -> list[HistoryEntry]:
        """Everything that happened to one memory, oldest first."""
        return self._runner.run(self._wrapped.get_history(memory_id))

    def get_statistics(self) -> AgentStatistics:
        """How much this agent remembers, by type, tier and kind."""
        return self._runner.run(self._wrapped.get_statistics())

    def get_profile(self) -> AgentProfile:
        """This agent's own weights, half-life and way of putting contexts together."""
        return self._runner.run(self._wrapped.get_profile())

    def set_profile(self, **parts: Any) -> AgentProfile:
        """Change parts of the profile: weights, half_life_hours, context. The others stay."""
        return self._runner.run(self._wrapped.set_profile(**parts))

    def get_working_memory(self, task_id: str) -> list[WorkingEntry]:
        """The latest memories of a task, oldest first, at most 4,000 tokens of them."""
        return self._runner.run(self._wrapped.get_working_memory(task_id))

    def promote(
        self,
        memory_id: str,
        to: Tier | str | None = None,
        *,
        project_id: str | None = None,
        actor: str | None = None,
    ) -> Stored:
        """Copy a memory one tier up: from its task to its project, from a project to global."""
        return self._runner.run(
            self._wrapped.promote(memory_id, to, project_id=project_id, actor=actor)
        )

    def undo_promotion(self, promoted_id: str, *, actor: str | None = None) -> None:
        """Take a promoted copy back; the original is not touched."""
        self._runner.run(self._wrapped.undo_promotion(promoted_id, actor=actor))

    def prune(
        self,
        memory_layer: MemoryType | str | None = None,
        strategy: Strategy | str = Strategy.LEAST_RELEVANT,
        **options: Any,
    ) -> PruneReport:
        """Archive the least missed fifth of a layer (a memory type), or of everything."""
        return self._runner.run(self._wrapped.prune(memory_layer, strategy, **options))

    def restore(
        self, memory_ids: Sequence[str] | str | None = None, **options: Any
    ) -> RestoreReport:
        """Bring archived memories back: some by id, by filter (``where``), or all of them."""
        return self._runner.run(self._wrapped.restore(memory_ids, **options))

    def erase(self, *, source: str | None = None, **options: Any) -> ErasureReport:
        """Destroy all that came from one source or, without one, everything of this agent."""
        return self._runner.run(self._wrapped.erase(source=source, **options))
