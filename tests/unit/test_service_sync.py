"""The blocking facade: the same signatures, the same answers, on a file and on a server."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import waypost.sync
from tests.rpc_transports import SECRET
from tests.served import served
from waypost.client import RemoteMemory
from waypost.exceptions import InvalidInput, NotFound
from waypost.memory import MemoryManager
from waypost.model import new_id
from waypost.service.auth import make_token
from waypost.sync import Memory, Runner

COROUTINES = [
    name
    for name, member in vars(MemoryManager).items()
    if inspect.iscoroutinefunction(member) and not name.startswith("_")
]
NOT_SERVED = {"erase", "get_working_memory"}


@pytest.mark.parametrize("name", COROUTINES)
def test_every_method_has_the_signature_of_its_twin(name: str) -> None:
    twin = inspect.signature(getattr(MemoryManager, name))
    assert str(inspect.signature(getattr(Memory, name))) == str(twin)


@pytest.mark.parametrize("name", sorted(set(COROUTINES) - NOT_SERVED))
def test_the_client_has_the_methods_of_the_library(name: str) -> None:
    twin = inspect.signature(getattr(MemoryManager, name))
    assert str(inspect.signature(getattr(RemoteMemory, name))) == str(twin)


@pytest.fixture(params=["file", "server"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    if request.param == "file":
        with waypost.sync.open(tmp_path / "memory.db") as engine:
            yield engine.agent("planner")
        return
    with served_in_a_thread(tmp_path) as address:
        token = make_token(SECRET, "planner")
        with waypost.sync.connect(address, token=token) as engine:
            yield engine.agent("planner")


class served_in_a_thread:  # noqa: N801 - used like a function
    """A service in an event loop of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runner = Runner()
        self._stack: Any = None

    def __enter__(self) -> str:
        async def start() -> str:
            from contextlib import AsyncExitStack

            self._stack = AsyncExitStack()
            engine = await self._stack.enter_async_context(waypost.open(self._folder / "m.db"))
            service = await self._stack.enter_async_context(served(engine))
            return service.address

        return self._runner.run(start())

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()


def test_a_memory_is_stored_found_and_changed_without_a_loop(memory: Memory) -> None:
    stored = memory.add_interaction("Which port does staging use?", "Port 8443.")
    assert memory.retrieve_memories("staging port")[0].memory_id == stored.memory_id
    assert "8443" in memory.get_relevant_context("staging port").text
    assert memory.update_memory(stored.memory_id, importance=0.9).version == 2
    assert memory.agent_id == "planner"


def test_errors_come_through_as_they_are(memory: Memory) -> None:
    with pytest.raises(NotFound):
        memory.get_memory(new_id())
    with pytest.raises(InvalidInput):
        memory.add_memory("")


def test_threads_may_call_side_by_side(memory: Memory) -> None:
    threads = [
        threading.Thread(target=memory.add_memory, args=(f"Crate {n} holds lamps.",))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.count_memories() == 8


def test_parts_of_a_memory_wait_as_well(tmp_path: Path) -> None:
    with waypost.sync.open(tmp_path / "memory.db") as engine:
        content = engine.agent("planner").content("run-1")
        item = content.store("All about lamps.", source="search")
        assert content.retrieve(item.content_id).text == "All about lamps."
        assert b"".join(content.open(item.content_id)) == b"All about lamps."


def test_closing_twice_is_allowed_and_a_failed_opening_leaves_no_thread(tmp_path: Path) -> None:
    engine = waypost.sync.open(tmp_path / "memory.db")
    assert engine.agents() == []
    engine.close()
    engine.close()
    before = threading.active_count()
    with pytest.raises(InvalidInput):
        waypost.sync.open("nosuchstore://x")
    assert threading.active_count() == before
