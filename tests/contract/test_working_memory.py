"""Working memory, in the process and in Redis: one suite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import waypost
from waypost.exceptions import StorageUnavailable
from waypost.model import new_id
from waypost.working import InProcessWorkingMemory, WorkingEntry, WorkingMemory
from waypost.working.redis import RedisWorkingMemory

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def entry(text: str, tokens: int = 10) -> WorkingEntry:
    return WorkingEntry(
        memory_id=new_id(), kind="note", content=text, token_count=tokens, timestamp=NOW
    )


def texts(entries: list[WorkingEntry] | None) -> list[str]:
    return [one.content for one in entries or []]


class WorkingMemorySuite:
    async def test_entries_come_back_oldest_first(self, working: WorkingMemory) -> None:
        await working.push("a", "t", [entry("one")])
        await working.push("a", "t", [entry("two"), entry("three")])
        assert texts(await working.entries("a", "t")) == ["one", "two", "three"]

    async def test_what_is_not_known_is_none(self, working: WorkingMemory) -> None:
        assert await working.entries("a", "nothing") is None

    async def test_only_the_newest_tokens_are_kept(self, working: WorkingMemory) -> None:
        await working.push("a", "t", [entry(str(n), tokens=1500) for n in range(5)])
        assert texts(await working.entries("a", "t")) == ["3", "4"]

    async def test_agents_and_tasks_are_kept_apart_whatever_their_names(
        self, working: WorkingMemory
    ) -> None:
        await working.push("a", "b:c", [entry("first")])
        await working.push("a:b", "c", [entry("second")])
        await working.push("a*", "c", [entry("third")])
        assert texts(await working.entries("a", "b:c")) == ["first"]
        await working.clear("a*")
        await working.clear("a", "b:c")
        assert await working.entries("a", "b:c") is None
        assert texts(await working.entries("a:b", "c")) == ["second"]

    async def test_clearing_an_agent_clears_all_its_tasks(self, working: WorkingMemory) -> None:
        for task in ("t", "u/v", "日本"):
            await working.push("a", task, [entry("x")])
        await working.clear("a")
        assert [await working.entries("a", task) for task in ("t", "u/v", "日本")] == [None] * 3


class TestInProcess(WorkingMemorySuite):
    @pytest.fixture
    def working(self) -> WorkingMemory:
        return InProcessWorkingMemory()

    async def test_entries_are_gone_an_hour_after_the_last_push(self) -> None:
        now = [0.0]
        working = InProcessWorkingMemory(timer=lambda: now[0])
        await working.push("a", "t", [entry("x")])
        now[0] = 3599
        assert texts(await working.entries("a", "t")) == ["x"]
        now[0] = 3600
        assert await working.entries("a", "t") is None


class TestRedis(WorkingMemorySuite):
    @pytest.fixture
    async def working(self, redis_url: str) -> AsyncIterator[WorkingMemory]:
        working = RedisWorkingMemory(redis_url)
        yield working
        await working.aclose()

    async def test_keys_are_named_as_designed_and_expire_after_an_hour(
        self, working: WorkingMemory, redis_url: str
    ) -> None:
        import redis

        await working.push("planner", "task 1", [entry("x")])
        with redis.Redis.from_url(redis_url) as client:
            assert client.exists("memory:working:planner:task%201")
            assert 3590 <= client.ttl("memory:working:planner:task%201") <= 3600

    async def test_entries_survive_a_restart(self, tmp_path: Path, redis_url: str) -> None:
        async with waypost.open(tmp_path / "memory.db", redis_url=redis_url) as engine:
            await engine.agent("planner").add_memory("Step one is done", task_id="t")
        async with waypost.open(tmp_path / "other.db", redis_url=redis_url) as engine:
            held = await engine.agent("planner").get_working_memory("t")
        assert texts(held) == ["Step one is done"]

    async def test_an_unreachable_server_costs_speed_not_memories(self, tmp_path: Path) -> None:
        async with waypost.open(
            tmp_path / "memory.db", redis_url="redis://127.0.0.1:1/0"
        ) as engine:
            memory = engine.agent("planner")
            stored = await memory.add_memory("Kept all the same", task_id="t")
            assert texts(await memory.get_working_memory("t")) == ["Kept all the same"]
            await memory.forget_memory(stored.memory_id)
            with pytest.raises(StorageUnavailable):
                await memory.erase()


async def test_what_was_forgotten_or_changed_is_not_remembered_by_working_memory(
    tmp_path: Path,
) -> None:
    async with waypost.open(tmp_path / "memory.db") as engine:
        memory = engine.agent("planner")
        first = await memory.add_memory("The first wording", task_id="t")
        second = await memory.add_memory("To be forgotten", task_id="t")
        await memory.update_memory(first.memory_id, content="The second wording")
        await memory.forget_memory(second.memory_id)
        assert texts(await memory.get_working_memory("t")) == ["The second wording"]
