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
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from waypost.memory import MemoryManager
from waypost.twins import Twin, methods_of

P = ParamSpec("P")
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
    return kind.__module__.startswith("waypost.") and bool(
        inspect.getmembers(kind, inspect.iscoroutinefunction)
    )


def _iterated(runner: Runner, items: AsyncIterator[T]) -> Iterator[T]:
    while True:
        try:
            yield runner.run(_next(items))
        except StopAsyncIteration:
            return


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)


def waiting(twin: Callable[P, Coroutine[Any, Any, T]]) -> Twin[P, T]:
    """The method that waits for its twin."""

    def method(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> T:
        work: Coroutine[Any, Any, T] = getattr(self._wrapped, twin.__name__)(*args, **kwargs)
        return self._runner.run(work)

    return Twin(twin, method)


_LIBRARY = methods_of(MemoryManager)


class Memory(Blocking):
    """The memory of one agent. The methods are those of ``MemoryManager``, word for word."""

    agent_id: str

    add_interaction = waiting(_LIBRARY.add_interaction)
    add_memory = waiting(_LIBRARY.add_memory)
    add_memories = waiting(_LIBRARY.add_memories)
    retrieve_memories = waiting(_LIBRARY.retrieve_memories)
    get_relevant_context = waiting(_LIBRARY.get_relevant_context)
    report_context_use = waiting(_LIBRARY.report_context_use)
    get_tier_split = waiting(_LIBRARY.get_tier_split)
    get_memory = waiting(_LIBRARY.get_memory)
    list_memories = waiting(_LIBRARY.list_memories)
    count_memories = waiting(_LIBRARY.count_memories)
    update_memory = waiting(_LIBRARY.update_memory)
    forget_memory = waiting(_LIBRARY.forget_memory)
    get_history = waiting(_LIBRARY.get_history)
    get_statistics = waiting(_LIBRARY.get_statistics)
    get_working_memory = waiting(_LIBRARY.get_working_memory)
    get_profile = waiting(_LIBRARY.get_profile)
    set_profile = waiting(_LIBRARY.set_profile)
    promote = waiting(_LIBRARY.promote)
    undo_promotion = waiting(_LIBRARY.undo_promotion)
    prune = waiting(_LIBRARY.prune)
    restore = waiting(_LIBRARY.restore)
    erase = waiting(_LIBRARY.erase)

    start_task = waiting(_LIBRARY.start_task)
    start_stage = waiting(_LIBRARY.start_stage)
    complete_stage = waiting(_LIBRARY.complete_stage)
    complete_task = waiting(_LIBRARY.complete_task)
    get_task_progress = waiting(_LIBRARY.get_task_progress)
    get_stage_context = waiting(_LIBRARY.get_stage_context)
    expand_line = waiting(_LIBRARY.expand_line)
    get_memory_place = waiting(_LIBRARY.get_memory_place)
    record_error = waiting(_LIBRARY.record_error)
    resolve_error = waiting(_LIBRARY.resolve_error)
    get_error_history = waiting(_LIBRARY.get_error_history)
    detect_error_patterns = waiting(_LIBRARY.detect_error_patterns)
    get_strategic_context = waiting(_LIBRARY.get_strategic_context)
    record_intervention_outcome = waiting(_LIBRARY.record_intervention_outcome)
