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
from waypost.client.content import RemoteContent
from waypost.client.jobs import RemoteJobs
from waypost.client.memory import RemoteMemory
from waypost.content.store import ContentStore
from waypost.exceptions import InvalidInput, NotFound
from waypost.jobs.asking import AgentJobs
from waypost.memory import MemoryManager
from waypost.model import new_id
from waypost.service.auth import make_token
from waypost.sync import Memory, Runner


def methods_of(kind: type) -> list[str]:
    """The public coroutine functions of a class, inherited ones included."""
    found = inspect.getmembers(kind, inspect.iscoroutinefunction)
    return [name for name, _ in found if not name.startswith("_")]


def parts_of(kind: type) -> set[str]:
    """The public names of a class that are not coroutine functions."""
    names = {name for name in dir(kind) if not name.startswith("_")}
    return names - set(methods_of(kind))


HELD_LOCALLY = {"archive", "assembler", "global_memory", "project", "recorder", "runs", "task"}
"""Parts of a memory that work on the database itself; ``waypost.open`` has them."""
CONTENT_HELD_LOCALLY = {"adopt", "sample", "mark_shown", "restore", "snapshot", "store_stream"}


@pytest.mark.parametrize("name", methods_of(MemoryManager))
@pytest.mark.parametrize("kind", [Memory, RemoteMemory])
def test_every_method_has_the_signature_of_its_twin(name: str, kind: type) -> None:
    twin = inspect.signature(getattr(MemoryManager, name))
    assert inspect.signature(getattr(kind, name)) == twin
    assert getattr(kind, name).__doc__ == getattr(MemoryManager, name).__doc__


@pytest.mark.parametrize("name", sorted(set(methods_of(ContentStore)) - CONTENT_HELD_LOCALLY))
def test_content_on_a_server_has_the_methods_of_content_here(name: str) -> None:
    if name != "read_chunk":  # the client reads chunks in open()
        twin = inspect.signature(getattr(ContentStore, name))
        assert inspect.signature(getattr(RemoteContent, name)) == twin


@pytest.mark.parametrize("name", methods_of(AgentJobs))
def test_jobs_on_a_server_have_the_methods_of_jobs_here(name: str) -> None:
    twin = inspect.signature(getattr(AgentJobs, name))
    assert inspect.signature(getattr(RemoteJobs, name)) == twin


def test_a_part_of_the_library_that_is_new_is_offered_to_clients_or_named_here() -> None:
    assert parts_of(MemoryManager) - HELD_LOCALLY == {"content", "jobs"} <= parts_of(RemoteMemory)


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


def test_parts_of_a_memory_wait_as_well(memory: Memory) -> None:
    content = memory.content("run-1")
    item = content.store("All about lamps.", source="search")
    assert content.retrieve(item.content_id).text == "All about lamps."
    assert b"".join(content.open(item.content_id)) == b"All about lamps."
    job = memory.jobs.wait(memory.jobs.prune().job_id)
    assert job.result == {"pruned_count": 0, "skipped": 0}


def test_closing_twice_is_allowed_and_a_failed_opening_leaves_no_thread(tmp_path: Path) -> None:
    engine = waypost.sync.open(tmp_path / "memory.db")
    assert engine.agents() == []
    engine.close()
    engine.close()
    before = threading.active_count()
    with pytest.raises(InvalidInput):
        waypost.sync.open("nosuchstore://x")
    assert threading.active_count() == before
