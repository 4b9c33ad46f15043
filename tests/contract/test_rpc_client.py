"""The client and the library are interchangeable: one suite, run on both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import waypost
from tests.served import library_or_client, served
from waypost.exceptions import (
    ContentTooLarge,
    Forbidden,
    IdempotencyConflict,
    InvalidInput,
    NotFound,
    UnknownField,
    VersionConflict,
)
from waypost.model import Interaction, NewMemory, RecallRequest, new_id

WHEN = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture(params=["library", "client"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with library_or_client(request.param, tmp_path / "memory.db") as engine:
        yield engine


@pytest.fixture
def memory(engine: Any) -> Any:
    return engine.agent("planner")


async def test_an_interaction_is_stored_and_recalled(memory: Any) -> None:
    stored = await memory.add_interaction(
        "Which port does staging use?", "Port 8443.", tags=["ports"], timestamp=WHEN
    )
    assert stored.memory.timestamp == WHEN
    recall = await memory.retrieve_memories("staging port", k=1, tags=["ports"])
    assert recall[0].memory_id == stored.memory_id
    assert recall[0].why.routes
    assert not recall.degraded


async def test_values_can_be_handed_in_ready_made(memory: Any) -> None:
    interaction = Interaction(query="How long is the lease?", response="Nine days.")
    stored = await memory.add_interaction(interaction)
    recall = await memory.retrieve_memories(RecallRequest(query="lease", k=3))
    assert stored.memory_id in [found.memory_id for found in recall]


async def test_many_memories_are_stored_at_once(memory: Any) -> None:
    batch = [NewMemory(content=f"Room {number} is free.") for number in range(5)]
    stored = await memory.add_memories([*batch, {"content": "The roof leaks.", "kind": "note"}])
    assert [each.memory.content for each in stored][-2:] == ["Room 4 is free.", "The roof leaks."]
    assert await memory.count_memories({"kind": "note"}) >= 1
    assert await memory.add_memories([]) == []


async def test_a_memory_is_read_changed_and_forgotten(memory: Any) -> None:
    memory_id = (await memory.add_memory("The lease ends in May.")).memory_id
    changed = await memory.update_memory(memory_id, importance=0.9, expected_version=1)
    assert (changed.importance, changed.version) == (0.9, 2)
    assert await memory.get_memory(memory_id) == changed
    with pytest.raises(VersionConflict):
        await memory.update_memory(memory_id, importance=0.1, expected_version=1)
    history = await memory.get_history(memory_id)
    assert [entry.version for entry in history][-1] == 2
    await memory.forget_memory(memory_id)
    with pytest.raises(NotFound):
        await memory.get_memory(memory_id)


async def test_memories_are_listed_by_a_filter(memory: Any) -> None:
    await memory.add_memory("Use tabs.", kind="convention", timestamp=WHEN)
    await memory.add_memory("Deploy on Monday.", kind="decision")
    found = await memory.list_memories({"kind": "convention", "timestamp": {"$lte": WHEN}})
    assert [record.content for record in found] == ["Use tabs."]
    with pytest.raises(UnknownField):
        await memory.list_memories({"no_such_field": 1})


async def test_the_context_fits_its_budget(memory: Any) -> None:
    for number in range(20):
        await memory.add_memory(f"Step {number}: the build of module {number} passed.")
    package = await memory.get_relevant_context("build of module 7", max_tokens=300)
    assert package.token_count == waypost.count_tokens(package.text) <= 300
    assert "module 7" in package.text
    assert package.items


async def test_the_same_key_stores_once(memory: Any) -> None:
    first = await memory.add_memory("Paid 12 euros.", idempotency_key="payment-1")
    again = await memory.add_memory("Paid 12 euros.", idempotency_key="payment-1")
    assert again.memory_id == first.memory_id
    with pytest.raises(IdempotencyConflict):
        await memory.add_memory("Paid 13 euros.", idempotency_key="payment-1")


async def test_statistics_are_counted(memory: Any) -> None:
    await memory.add_memory("One.")
    assert (await memory.get_statistics()).memories == 1


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("add_memory", {"content": ""}, InvalidInput),
        ("add_memory", {"content": "x" * 1_000_001}, ContentTooLarge),
        ("add_memory", {"content": "x", "no_such_field": 1}, InvalidInput),
        ("add_memory", {"content": "x", "timestamp": datetime(2026, 1, 1)}, InvalidInput),  # noqa: DTZ001
        ("retrieve_memories", {"query": " "}, InvalidInput),
        ("retrieve_memories", {"query": "x", "k": 0}, InvalidInput),
        ("get_memory", {"memory_id": "x"}, InvalidInput),
        ("get_memory", {"memory_id": new_id()}, NotFound),
        ("forget_memory", {"memory_id": new_id()}, NotFound),
    ],
)
async def test_what_is_wrong_raises_the_same_error(
    memory: Any, method: str, arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await getattr(memory, method)(**arguments)


async def test_a_client_speaks_for_the_agent_of_its_token_only(tmp_path: Path) -> None:
    async with (
        waypost.open(tmp_path / "memory.db") as engine,
        served(engine) as service,
        service.client("planner") as client,
    ):
        assert client.agent().agent_id == "planner"
        with pytest.raises(Forbidden):
            client.agent("critic")
