"""The same script on SQLite and on PostgreSQL gives the same answers.

Hypothesis writes scripts of operations; each runs on both databases, and after every
step the answers are compared. Ids differ between runs, so they are replaced by the
order in which they first appeared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import waypost
from waypost import Engine, MemoryManager
from waypost.exceptions import WaypostError
from waypost.testing import HashEmbedder

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
SUBJECTS = ["staging port", "release day", "cache size"]

words = st.sampled_from(
    ["deploy", "Grafana", "naïve", "日本", "100%", "o'clock", 'say "hi"', "_x_"]
)
texts = st.lists(words, min_size=1, max_size=6).map(" ".join)
facts = st.builds(lambda s, v: f"The {s} is {v}", st.sampled_from(SUBJECTS), st.integers(1, 4))
times = st.integers(0, 20).map(lambda hours: MONDAY + timedelta(hours=hours))
places = st.sampled_from([{}, {"project_id": "shop"}, {"task_id": "t1"}, {"run_id": "r1"}])
tags = st.lists(st.sampled_from(["a", "b", "ü"]), max_size=2).map(tuple)
details = st.builds(
    lambda place, when, tag, rank: {
        **place,
        "timestamp": when,
        "tags": tag,
        "importance": rank / 4,
        "metadata": {"rank": rank, "half": rank / 2, "none": None},
    },
    places, times, tags, st.integers(0, 4),
)  # fmt: skip
pick = st.integers(0, 30)
filters = st.sampled_from(
    [
        {},
        {"tags": {"$contains": "a"}},
        {"tags": {"$contains": "ü"}},
        {"importance": {"$gte": 0.5}},
        {"metadata.rank": {"$in": [1, 2]}},
        {"metadata.half": {"$lt": 1}},
        {"metadata.missing": {"$exists": False}},
        {"metadata.none": None},
        {"$or": [{"task_id": "t1"}, {"project_id": "shop"}]},
        {"$not": {"kind": "fact"}},
        {"timestamp": {"$gt": MONDAY + timedelta(hours=5)}},
        {"content": {"$contains": "100%"}},
        {"content": {"$contains": "_x_"}},
        {"superseded_by": {"$exists": True}},
        {"type": {"$nin": ["semantic"]}},
        {"nonsense": 1},
    ]
)
orders = st.sampled_from(["timestamp", "-importance", "content", "-kind", "valid_to", "unknown"])

steps = st.one_of(
    st.tuples(st.just("add"), texts | facts, details),
    st.tuples(st.just("add_with_key"), texts, st.sampled_from(["k1", "k2"])),
    st.tuples(st.just("interaction"), texts, facts, details),
    st.tuples(st.just("batch"), st.lists(facts | texts, min_size=1, max_size=4), details),
    st.tuples(st.just("update"), pick, texts | facts),
    st.tuples(st.just("retag"), pick, tags, st.sampled_from([None, 1, 2])),
    st.tuples(st.just("forget"), pick),
    st.tuples(st.just("list"), filters, orders, st.integers(1, 8)),
    st.tuples(st.just("count"), filters),
    st.tuples(st.just("recall"), texts | facts, filters, st.booleans()),
    st.tuples(st.just("recall_then"), facts, times),
    st.tuples(st.just("history"), pick),
    st.tuples(st.just("statistics")),
)


class Player:
    """Plays a script on one memory and tells what it answered, in comparable form."""

    def __init__(self, memory: MemoryManager) -> None:
        self._memory = memory
        self._ids: list[str] = []

    async def play(self, step: tuple[Any, ...]) -> Any:
        name, *arguments = step
        operation: Callable[..., Awaitable[Any]] = getattr(self, f"_{name}")
        try:
            return self._plain(await operation(*arguments))
        except WaypostError as error:
            return type(error).__name__

    async def _add(self, text: str, more: dict[str, Any]) -> Any:
        return self._receipt(await self._memory.add_memory(text, **more))

    async def _add_with_key(self, text: str, key: str) -> Any:
        return self._receipt(
            await self._memory.add_memory(text, idempotency_key=key, timestamp=MONDAY)
        )

    async def _interaction(self, query: str, outcome: str, more: dict[str, Any]) -> Any:
        actions = [{"name": "try", "arguments": {"n": 1}, "success": True}]
        return self._receipt(
            await self._memory.add_interaction(
                query, "done", outcome=outcome, actions=actions, success=True, **more
            )
        )

    async def _batch(self, contents: list[str], more: dict[str, Any]) -> Any:
        batch = [{"content": content, **more} for content in contents]
        return [self._receipt(stored) for stored in await self._memory.add_memories(batch)]

    async def _update(self, which: int, text: str) -> Any:
        return self._record(await self._memory.update_memory(self._id(which), content=text))

    async def _retag(self, which: int, wanted: tuple[str, ...], version: int | None) -> Any:
        changed = await self._memory.update_memory(
            self._id(which), tags=wanted, expected_version=version
        )
        return self._record(changed)

    async def _forget(self, which: int) -> Any:
        return await self._memory.forget_memory(self._id(which))

    async def _list(self, where: dict[str, Any], order: str, limit: int) -> Any:
        found = await self._memory.list_memories(where, order_by=order, limit=limit)
        return [self._record(record) for record in found]

    async def _count(self, where: dict[str, Any]) -> Any:
        return await self._memory.count_memories(where)

    async def _recall(self, query: str, where: dict[str, Any], superseded: bool) -> Any:
        return self._recalled(
            await self._memory.retrieve_memories(
                query, k=6, now=MONDAY + timedelta(days=2), where=where,
                include_superseded=superseded, track_access=False,
            )
        )  # fmt: skip

    async def _recall_then(self, query: str, when: datetime) -> Any:
        return self._recalled(
            await self._memory.retrieve_memories(
                query, now=MONDAY + timedelta(days=2), as_of=when, track_access=False
            )
        )

    async def _history(self, which: int) -> Any:
        events = await self._memory.get_history(self._id(which))
        return [event.model_dump(exclude={"sequence", "at"}) for event in events]

    async def _statistics(self) -> Any:
        return (await self._memory.get_statistics()).model_dump()

    def _id(self, which: int) -> str:
        return self._ids[which % len(self._ids)] if self._ids else str(uuid4())

    def _receipt(self, stored: Any) -> Any:
        known = [stored.memory_id, *(record.memory_id for record in stored.derived)]
        self._ids += [memory_id for memory_id in known if memory_id not in self._ids]
        records = [self._record(record) for record in (stored.memory, *stored.derived)]
        return records, sorted(stored.superseded), stored.duplicate, stored.embedded

    def _record(self, record: Any) -> Any:
        return record.model_dump(exclude={"created_at", "updated_at"})

    def _recalled(self, recall: Any) -> Any:
        # Half-precision vectors may be compared in another order of additions: round.
        return recall.degraded, [
            (item.memory_id, round(item.score, 3), [hit.route for hit in item.why.routes])
            for item in recall
        ]

    def _plain(self, answer: Any) -> str:
        """The answer as text, with every id replaced by its number."""
        text = repr(answer)
        for number, memory_id in enumerate(self._ids):
            text = text.replace(memory_id, f"id-{number}")
        return text


class Stage:
    """One engine on each database, open for many scripts on one event loop."""

    def __init__(self, *urls: str) -> None:
        self._runner = asyncio.Runner()
        self._engines = [self._runner.run(_open(url)) for url in urls]

    def compare(self, script: list[tuple[Any, ...]]) -> None:
        """Play on a fresh agent of each and compare after every step."""
        agent = uuid4().hex
        players = [Player(engine.agent(agent)) for engine in self._engines]
        for number, step in enumerate(script):
            answers = [self._runner.run(player.play(step)) for player in players]
            answers = [answer.replace(agent, "agent") for answer in answers]
            assert answers[0] == answers[1], f"step {number}: {step}"

    def close(self) -> None:
        for engine in self._engines:
            self._runner.run(engine.close())
        self._runner.close()


async def _open(url: str) -> Engine:
    return await waypost.open(url, embedder=HashEmbedder(64), clock=lambda: MONDAY)


@pytest.fixture
def stage(tmp_path: Any, postgres_url: str) -> Iterator[Stage]:
    stage = Stage(str(tmp_path / "memory.db"), postgres_url)
    yield stage
    stage.close()


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(script=st.lists(steps, min_size=3, max_size=20))
def test_both_databases_answer_alike(stage: Stage, script: list[tuple[Any, ...]]) -> None:
    stage.compare(script)
