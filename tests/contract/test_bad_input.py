"""Bad input, all of it in one place: a clear error each, and nothing lost or half-written.

Files that cannot be a memory are in ``tests/unit/test_sqlite_files.py``, a newer schema also in
``tests/migration``, the walls between agents also in ``tests/contract/test_rpc_isolation.py``.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import waypost
from tests.engines import OnFile, OnPostgres
from waypost import Engine, MemoryManager
from waypost.exceptions import (
    ContentTooLarge,
    DimensionMismatch,
    IdempotencyConflict,
    InvalidInput,
    NotFound,
    StorageUnavailable,
    UnknownField,
    UnknownOperator,
    WaypostError,
)

NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001
LATER = datetime(2026, 1, 2, tzinfo=UTC)
EARLIER = datetime(2026, 1, 1, tzinfo=UTC)
NO_SUCH_ID = "01a1e165-eb3f-7000-bb16-a8b0c7a4797d"
ENDLESS: dict[str, Any] = {}
ENDLESS["self"] = ENDLESS
DEEP: dict[str, Any] = {}
for _ in range(3000):
    DEEP = {"deeper": DEEP}

Refusal = tuple[dict[str, Any], type[WaypostError], str]

MEMORIES: list[Refusal] = [
    ({"content": ""}, InvalidInput, "content is empty; a memory needs some text"),
    ({"content": " \n\t"}, InvalidInput, "content is empty"),
    ({"content": None}, InvalidInput, "content: Input should be a valid string"),
    ({"content": "x" * 10_000_000}, ContentTooLarge, "10,000,000 characters.*content channel"),
    ({"content": "a\x00b"}, InvalidInput, "NUL character"),
    ({"content": "half \ud800 a character"}, InvalidInput, "lone surrogate"),
    ({"content": "x", "colour": "red"}, InvalidInput, "'colour' is not a field .* known are"),
    ({"content": "x", "agent_id": "b"}, InvalidInput, "'agent_id' is not a field"),
    ({"content": "x", "timestamp": NAIVE}, InvalidInput, "no time zone; pass an aware time"),
    ({"content": "x", "timestamp": "2026-01-01"}, InvalidInput, "no time zone"),
    ({"content": "x", "valid_from": LATER, "valid_to": EARLIER}, InvalidInput, "before valid_from"),
    ({"content": "x", "type": "eternal"}, InvalidInput, "'eternal' is not one of working"),
    ({"content": "x", "kind": "My Kind"}, InvalidInput, "lower-case letters"),
    ({"content": "x", "importance": 1.5}, InvalidInput, "importance: .*less than or equal to 1"),
    ({"content": "x", "tags": "abc"}, InvalidInput, "tags: .*tuple"),
    ({"content": "x", "task_id": ""}, InvalidInput, "task_id is empty"),
    ({"content": "x", "task_id": "t" * 256}, InvalidInput, "256 characters; at most 255"),
    ({"content": "x", "stage_id": "nope"}, InvalidInput, "'nope' is not a UUID"),
    ({"content": "x", "idempotency_key": "k" * 256}, InvalidInput, "at most 255"),
    ({"content": "x", "metadata": {"a": math.nan}}, InvalidInput, "metadata holds what JSON"),
    ({"content": "x", "metadata": {"a": {1}}}, InvalidInput, "metadata holds what JSON cannot"),
    ({"content": "x", "metadata": {"a": EARLIER}}, InvalidInput, "datetime is not JSON"),
    ({"content": "x", "metadata": {"a": object()}}, InvalidInput, "JSON values"),
    ({"content": "x", "metadata": ENDLESS}, InvalidInput, "Circular"),
    ({"content": "x", "metadata": DEEP}, InvalidInput, "JSON"),
    ({"content": "x", "metadata": {"a": "\ud800"}}, InvalidInput, "lone surrogate"),
    ({"content": "x", "embedding": [1.0, 0.0]}, DimensionMismatch, "2 dimensions, but .* has 256"),
    ({"content": "x", "embedding": [0.0] * 256}, DimensionMismatch, "no direction"),
    ({"content": "x", "embedding": [math.nan] * 256}, DimensionMismatch, "no direction"),
    ({"content": "x", "links": [{"kind": "loves", "target_id": "y"}]}, InvalidInput, "not one of"),
]

QUESTIONS: list[Refusal] = [
    ({"query": ""}, InvalidInput, "query is empty; ask in a few words"),
    ({"query": "x" * 100_001}, InvalidInput, "longer than 100,000"),
    ({"query": "x", "k": 0}, InvalidInput, "k: .*greater than or equal to 1"),
    ({"query": "x", "colour": "red"}, InvalidInput, "'colour' is not a field"),
    ({"query": "x", "agent_id": "b"}, InvalidInput, "'agent_id' is not a field"),
    ({"query": "x", "as_of": NAIVE}, InvalidInput, "no time zone"),
    ({"query": "x", "now": NAIVE}, InvalidInput, "no time zone"),
    ({"query": "x", "time_range": {"start": LATER, "end": EARLIER}}, InvalidInput, "ends before"),
    ({"query": "x", "types": ["eternal"]}, InvalidInput, "'eternal' is not one of"),
    ({"query": "x", "tier": "roof"}, InvalidInput, "'roof' is not one of task"),
    ({"query": "x", "weights": {"relevance": -1}}, InvalidInput, "weights.relevance"),
    ({"query": "x", "half_life_hours": 0}, InvalidInput, "half_life_hours"),
    ({"query": "x", "where": {"importence": 1}}, UnknownField, "known fields: .*importance"),
    ({"query": "x", "where": {"importance": {"$ge": 1}}}, UnknownOperator, r"\$gte"),
]

FILTERS: list[Refusal] = [
    ({"where": {"importence": 1}}, UnknownField, "known fields: .*importance"),
    ({"where": {"importance": {"$ge": 1}}}, UnknownOperator, r"\$gte"),
    ({"where": {"importance": "high"}}, InvalidInput, "compares with a number"),
    ({"where": {"timestamp": NAIVE}}, InvalidInput, "no time zone"),
    ({"where": [1]}, InvalidInput, "a filter is a dict"),
    ({"where": {"kind": "\x00"}}, InvalidInput, "no NUL"),
    ({"order_by": "nothing"}, UnknownField, "known fields"),
    ({"limit": -1}, InvalidInput, "limit is a whole number"),
]

CHANGES: list[Refusal] = [
    ({}, InvalidInput, "no field to change was given"),
    ({"colour": "red"}, InvalidInput, "'colour' is not a field"),
    ({"agent_id": "b"}, InvalidInput, "'agent_id' is not a field"),
    ({"content": ""}, InvalidInput, "content is empty"),
    ({"content": "x" * 10_000_000}, ContentTooLarge, "content channel"),
    ({"content": None}, InvalidInput, "content cannot be None"),
    ({"metadata": {"a": math.inf}}, InvalidInput, "metadata holds what JSON cannot"),
    ({"valid_to": NAIVE}, InvalidInput, "no time zone"),
]


async def refused(call: Callable[..., Awaitable[Any]], cases: list[Refusal]) -> None:
    for arguments, kind, words in cases:
        with pytest.raises(kind, match=words):
            await call(**arguments)


class BadInputSuite:
    @pytest.fixture
    async def kept(self, memory: MemoryManager) -> str:
        return (await memory.add_memory("The kettle is red", kind="note")).memory_id

    async def unharmed(self, memory: MemoryManager, kept: str) -> None:
        """What was there is there, word for word, and nothing else is."""
        (record,) = await memory.list_memories()
        assert (record.memory_id, record.content, record.version) == (kept, "The kettle is red", 1)
        recall = await memory.retrieve_memories("kettle")
        assert ([found.memory_id for found in recall], recall.degraded) == ([kept], False)

    async def test_a_memory_that_cannot_be_kept(self, memory: MemoryManager, kept: str) -> None:
        await refused(memory.add_memory, MEMORIES)
        await self.unharmed(memory, kept)

    async def test_one_bad_memory_in_a_batch(self, memory: MemoryManager, kept: str) -> None:
        for bad, kind, words in MEMORIES:
            with pytest.raises(kind, match=words):
                await memory.add_memories([{"content": "good"}, bad])
        with pytest.raises(InvalidInput, match="given by its fields, not by a str"):
            await memory.add_memories(["good"])  # type: ignore[list-item]
        await self.unharmed(memory, kept)

    async def test_a_question_that_cannot_be_asked(self, memory: MemoryManager, kept: str) -> None:
        await refused(memory.retrieve_memories, QUESTIONS)
        await self.unharmed(memory, kept)

    async def test_a_filter_that_means_nothing(self, memory: MemoryManager, kept: str) -> None:
        await refused(memory.list_memories, FILTERS)
        await self.unharmed(memory, kept)

    async def test_a_change_that_cannot_be_made(self, memory: MemoryManager, kept: str) -> None:
        async def change(**fields: Any) -> None:
            await memory.update_memory(kept, **fields)

        await refused(change, CHANGES)
        await self.unharmed(memory, kept)

    async def test_ids_that_name_nothing(self, memory: MemoryManager, kept: str) -> None:
        for call in (memory.get_memory, memory.forget_memory):
            with pytest.raises(InvalidInput, match="'42' is not a memory id"):
                await call("42")
            with pytest.raises(NotFound, match=NO_SUCH_ID):
                await call(NO_SUCH_ID)
        with pytest.raises(NotFound):
            await memory.update_memory(NO_SUCH_ID, tags=("a",))
        await self.unharmed(memory, kept)

    async def test_another_agents_id(
        self, engine: Engine, memory: MemoryManager, kept: str
    ) -> None:
        stranger = engine.agent("stranger")
        for call in (stranger.get_memory, stranger.forget_memory, stranger.promote):
            with pytest.raises(NotFound):
                await call(kept)
        with pytest.raises(NotFound):
            await stranger.update_memory(kept, content="stolen")
        assert await stranger.get_history(kept) == []
        assert await stranger.list_memories({"agent_id": "planner"}) == []
        assert len(await stranger.retrieve_memories("kettle", where={"memory_id": kept})) == 0
        await self.unharmed(memory, kept)

    async def test_a_key_that_was_used_for_something_else(self, memory: MemoryManager) -> None:
        await memory.add_memory("first", idempotency_key="k")
        for attempt in (
            memory.add_memory("second", idempotency_key="k"),
            memory.add_memories([{"content": "third"}, {"content": "x", "idempotency_key": "k"}]),
            memory.add_interaction("first", idempotency_key="k"),
        ):
            with pytest.raises(IdempotencyConflict, match="'k' was used before with another body"):
                await attempt
        assert await memory.count_memories() == 1

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("", "agent_id is empty"),
            ("a" * 256, "at most 255"),
            ("a\x00", "NUL"),
            ("\ud800", "surrogate"),
            (5, "valid string"),
        ],
    )
    async def test_an_agent_that_has_no_name(self, engine: Engine, name: Any, words: str) -> None:
        with pytest.raises(InvalidInput, match=words):
            engine.agent(name)


class TestOnFile(BadInputSuite, OnFile):
    async def test_a_full_disk(self, engine: Engine, memory: MemoryManager, kept: str) -> None:
        def no_more_pages(connection: Any) -> None:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

        def enough_pages(connection: Any) -> None:
            connection.exec_driver_sql("PRAGMA max_page_count = 1000000")

        await engine.database.write(no_more_pages)
        with pytest.raises(StorageUnavailable, match=r"no space left .* nothing was written"):
            await memory.add_memory("large " * 10_000)
        await self.unharmed(memory, kept)
        await engine.database.write(enough_pages)
        await memory.add_memory("large " * 10_000)
        assert await memory.count_memories() == 2


class TestOnPostgres(BadInputSuite, OnPostgres): ...


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://host/db", "names no store that Waypost knows; use a file path"),
        ("postgresql://host", "names no database"),
    ],
)
async def test_an_address_that_names_no_store(url: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        await waypost.open(url)
