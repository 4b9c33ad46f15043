"""Opening, closing, cancelling and sharing an engine, on every database."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import waypost
from tests.engines import InMemory, OnFile, OnPostgres
from tests.leaks import nothing_left_behind
from waypost import Engine, MemoryManager
from waypost.exceptions import StorageUnavailable


class LifeSuite:
    async def test_closing_twice_is_allowed(self, url: str) -> None:
        engine = await waypost.open(url)
        await engine.close()
        await engine.close()

    async def test_a_closed_engine_says_so(self, url: str) -> None:
        engine = await waypost.open(url)
        memory = engine.agent("planner")
        stored = await memory.add_memory("hello")
        await engine.close()
        for use in (
            memory.add_memory("more"),
            memory.get_memory(stored.memory_id),
            memory.forget_memory(stored.memory_id),
            memory.count_memories(),
        ):
            with pytest.raises(StorageUnavailable, match="is closed"):
                await use
        recall = await memory.retrieve_memories("hello")
        assert recall.degraded
        assert "is closed" in recall.reasons[-1]

    async def test_closing_waits_for_writes_under_way(self, url: str) -> None:
        engine = await waypost.open(url)
        started, let_go = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def slowly(connection: Any) -> str:
            loop.call_soon_threadsafe(started.set)
            let_go.wait()
            return "done"

        writing = asyncio.create_task(engine.database.write(slowly))
        await started.wait()
        closing = asyncio.create_task(engine.close())
        await asyncio.sleep(0)
        let_go.set()
        await closing
        assert await writing == "done"

    async def test_an_error_inside_the_block_closes_the_engine(self, url: str) -> None:
        with pytest.raises(ZeroDivisionError):
            async with waypost.open(url) as engine:
                raise ZeroDivisionError
        with pytest.raises(StorageUnavailable, match="is closed"):
            await engine.agent("planner").count_memories()

    async def test_nothing_is_left_behind(self, url: str) -> None:
        with nothing_left_behind():
            async with waypost.open(url) as engine:
                await engine.agent("planner").add_memory("hello")
                await engine.agent("planner").retrieve_memories("hello")

    @pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13])
    async def test_a_cancelled_write_is_whole_or_nothing(
        self, engine: Engine, memory: MemoryManager, turns: int
    ) -> None:
        interaction = {
            "actions": [{"name": "deploy", "success": True}],
            "outcome": "The staging port is 8443.",
            "success": True,
        }
        whole = await memory.add_interaction("First", "Done.", **interaction)
        parts = 1 + len(whole.derived)
        for record in await memory.list_memories():
            await memory.forget_memory(record.memory_id)

        writing = asyncio.create_task(memory.add_interaction("First", "Done.", **interaction))
        for _ in range(turns):
            await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)

        # The next write of the agent comes after whatever the cancelled one still does.
        last = await memory.add_memory("the last note", kind="message")
        assert await memory.count_memories() in (1, 1 + parts)
        assert (await memory.get_memory(last.memory_id)).content == "the last note"

    async def test_many_retrievals_and_writes_at_once(self, memory: MemoryManager) -> None:
        await memory.add_memories([{"content": f"note {n} about topic {n % 7}"} for n in range(50)])
        asked = [memory.retrieve_memories(f"topic {n % 7}") for n in range(100)]
        written = [memory.add_memory(f"late note {n}", kind="message") for n in range(20)]
        answers: list[Any] = await asyncio.gather(*asked, *written)
        recalls = answers[:100]
        assert all(len(recall) == 5 and not recall.degraded for recall in recalls)
        assert await memory.count_memories() == 70

    async def test_agents_write_at_once_without_seeing_each_other(self, engine: Engine) -> None:
        async def live(agent: str) -> None:
            memory = engine.agent(agent)
            for number in range(10):
                await memory.add_memory(f"{agent} note {number}", kind="message")
                recall = await memory.retrieve_memories("note", k=20)
                contents = {recalled.memory.content for recalled in recall}
                assert contents == {f"{agent} note {n}" for n in range(number + 1)}

        await asyncio.gather(*(live(f"agent-{number}") for number in range(5)))

    async def test_concurrent_writes_of_one_key_store_one_memory(
        self, memory: MemoryManager
    ) -> None:
        stored = await asyncio.gather(
            *(memory.add_memory("the same", idempotency_key="k") for _ in range(10))
        )
        assert len({receipt.memory_id for receipt in stored}) == 1
        assert sum(not receipt.duplicate for receipt in stored) == 1

    async def test_concurrent_updates_all_count(self, memory: MemoryManager) -> None:
        stored = await memory.add_memory("a counter", kind="note")
        await asyncio.gather(
            *(memory.update_memory(stored.memory_id, tags=(f"t{n}",)) for n in range(10))
        )
        assert (await memory.get_memory(stored.memory_id)).version == 11
        events = await memory.get_history(stored.memory_id)
        assert [event.version for event in events] == list(range(1, 12))


class TestOnFile(LifeSuite, OnFile): ...


class TestInMemory(LifeSuite, InMemory): ...


class TestOnPostgres(LifeSuite, OnPostgres):
    async def test_a_server_that_is_not_there(self) -> None:
        with nothing_left_behind(), pytest.raises(StorageUnavailable, match="connection"):
            await waypost.open("postgresql://waypost@127.0.0.1:1/none")
