"""An embedder that fails loses nothing and refuses nothing: the queue, on every database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest

import waypost
from tests.clocks import Clock
from tests.engines import OnFile, OnPostgres
from waypost import Engine, MemoryManager
from waypost.embed.openai_compatible import OpenAICompatibleEmbedder
from waypost.exceptions import ProviderError
from waypost.resilience import CircuitBreaker, RetryPolicy
from waypost.store import memories, vectors
from waypost.store.vectors import LEASE, LONGEST_RETRY
from waypost.testing import HashEmbedder, ScriptedModelServer, hang, status

DOWN = status(503, "down for maintenance")


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(dimension=64) as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


def remote(server: ScriptedModelServer) -> OpenAICompatibleEmbedder:
    """An embedder over HTTP that tries once and never gives its server up."""
    return OpenAICompatibleEmbedder(
        "scripted",
        base_url=server.base_url,
        dimension=64,
        retry=RetryPolicy(attempts=1),
        breaker=CircuitBreaker(failures=1_000_000),
    )


async def routes_to(memory: MemoryManager, query: str) -> set[str]:
    recall = await memory.retrieve_memories(query, k=1)
    return {hit.route for hit in recall[0].why.routes}


async def has_vector(engine: Engine, memory_id: str) -> bool:
    found = await engine.database.read(memories.vector_of, "planner", memory_id, agent="planner")
    return found is not None


async def queue_rows(engine: Engine) -> list[Any]:
    from sqlalchemy import select

    from waypost.store.tables import jobs

    def read(connection: Any) -> list[Any]:
        statement = select(jobs.c.attempts, jobs.c.run_after, jobs.c.last_error)
        return list(connection.execute(statement.order_by(jobs.c.job_id)))

    return await engine.database.read(read)


class QueueSuite:
    @pytest.fixture
    async def engine(
        self, url: str, server: ScriptedModelServer, clock: Clock
    ) -> AsyncIterator[Engine]:
        async with waypost.open(url, embedder=remote(server), clock=clock) as engine:
            # The tests call ``drain`` themselves; a worker in the background would race them.
            await engine.worker.close()
            engine.queue.kick = lambda: None  # type: ignore[method-assign]
            yield engine

    async def test_an_outage_neither_loses_nor_refuses_a_write(
        self, engine: Engine, memory: MemoryManager, server: ScriptedModelServer, clock: Clock
    ) -> None:
        server.fail_always(DOWN)
        stored = await memory.add_memory("the walrus sleeps in the blue tent")
        assert not stored.embedded
        assert (await memory.get_statistics()).waiting_for_vectors == 1
        recall = await memory.retrieve_memories("walrus tent")
        assert recall[0].memory_id == stored.memory_id
        assert recall.degraded
        assert "words only" in recall.reasons[0]

        server.recover()
        assert await engine.queue.drain() == 1
        assert (await memory.get_statistics()).waiting_for_vectors == 0
        assert "vector" in await routes_to(memory, "walrus tent")

    async def test_whole_batches_and_interactions_wait_together(
        self, engine: Engine, memory: MemoryManager, server: ScriptedModelServer
    ) -> None:
        server.fail_always(DOWN)
        await memory.add_memories([{"content": f"event {number}"} for number in range(300)])
        stored = await memory.add_interaction("Which port?", "The staging port is 8443.")
        waiting = (await memory.get_statistics()).waiting_for_vectors
        assert waiting == 301 + len(stored.derived)
        server.recover()
        assert await engine.queue.drain() == waiting

    async def test_failed_jobs_wait_longer_each_time(
        self, engine: Engine, memory: MemoryManager, server: ScriptedModelServer, clock: Clock
    ) -> None:
        server.fail_always(DOWN)
        await memory.add_memory("a note")
        delays = []
        for _ in range(4):
            assert await engine.queue.drain() == 0
            ((attempts, due, error),) = await queue_rows(engine)
            assert "down for maintenance" in error
            delays.append(due - clock())
            clock.now = due
        assert attempts == 4
        assert delays == sorted(set(delays))

    async def test_a_job_that_is_not_due_is_left_alone(
        self, engine: Engine, memory: MemoryManager, server: ScriptedModelServer, clock: Clock
    ) -> None:
        server.fail_always(DOWN)
        await memory.add_memory("a note")
        await engine.queue.drain()
        server.recover()
        assert await engine.queue.drain() == 0
        clock.forward(minutes=1)
        assert await engine.queue.drain() == 1

    async def test_a_new_engine_goes_on_with_the_queue_of_a_dead_one(
        self, engine: Engine, memory: MemoryManager, url: str, server: ScriptedModelServer,
        clock: Clock,
    ) -> None:  # fmt: skip
        server.fail_always(DOWN)
        stored = await memory.add_memory("left behind by a crash")
        claimed = await engine.database.write(vectors.claim, engine.embedder.name, clock(), 10)
        assert len(claimed) == 1  # and the worker dies here, with the job in its hands
        server.recover()
        clock.forward(seconds=LEASE.total_seconds())
        async with waypost.open(url, embedder=remote(server), clock=clock) as another:
            await another.queue.join()
            assert await has_vector(another, stored.memory_id)

    async def test_two_workers_embed_each_memory_once(
        self, engine: Engine, memory: MemoryManager, url: str, server: ScriptedModelServer,
        clock: Clock,
    ) -> None:  # fmt: skip
        server.fail_always(DOWN)
        await memory.add_memories([{"content": f"event {number}"} for number in range(400)])
        server.recover()
        server.requests.clear()
        async with waypost.open(url, embedder=remote(server), clock=clock) as another:
            stored = sum(await asyncio.gather(engine.queue.drain(), another.queue.drain()))
            await another.queue.join()
        texts = [text for request in server.requests for text in request.body["input"]]
        assert len(texts) == len(set(texts)) == 400
        assert stored <= 400

    async def test_a_worker_that_is_stopped_gives_its_jobs_back(
        self, engine: Engine, memory: MemoryManager, server: ScriptedModelServer
    ) -> None:
        server.fail(DOWN, hang())
        await memory.add_memory("a note")
        server.wait_for_request()
        draining = asyncio.create_task(engine.queue.drain())
        await asyncio.to_thread(server.wait_for_request)
        draining.cancel()
        await asyncio.gather(draining, return_exceptions=True)
        server.release()
        assert await engine.queue.drain() == 1

    async def test_a_vector_made_for_an_old_text_is_not_kept(
        self, engine: Engine, memory: MemoryManager, server: ScriptedModelServer, clock: Clock
    ) -> None:
        server.fail_always(DOWN)
        stored = await memory.add_memory("the harbour is in Lisbon", kind="note")
        claimed = await engine.database.write(vectors.claim, engine.embedder.name, clock(), 10)
        await memory.update_memory(stored.memory_id, content="the harbour is in Porto")
        made = {item.row_id: [1.0] * 64 for item in claimed}
        attached = await engine.database.write(
            vectors.attach, engine.embedder.name, made, claimed, clock(), agent="planner"
        )
        assert attached == 0
        server.recover()
        assert await engine.queue.drain() == 1
        assert any("Porto" in str(request.body["input"]) for request in server.requests)

    async def test_an_update_with_a_vector_withdraws_the_job(
        self, engine: Engine, memory: MemoryManager, server: ScriptedModelServer
    ) -> None:
        server.fail(DOWN)
        stored = await memory.add_memory("the harbour is in Lisbon", kind="note")
        await memory.update_memory(stored.memory_id, content="the harbour is in Porto")
        assert (await memory.get_statistics()).waiting_for_vectors == 0
        assert await engine.queue.drain() == 0
        assert await has_vector(engine, stored.memory_id)

    async def test_a_forgotten_memory_leaves_the_queue(
        self, engine: Engine, memory: MemoryManager, server: ScriptedModelServer
    ) -> None:
        server.fail_always(DOWN)
        stored = await memory.add_memory("forget me")
        await memory.forget_memory(stored.memory_id)
        server.recover()
        assert await engine.queue.drain() == 0
        assert (await memory.get_statistics()).waiting_for_vectors == 0

    async def test_a_refused_text_does_not_hold_up_the_others(self, url: str, clock: Clock) -> None:
        embedder = Refusing("poison")
        async with waypost.open(url, embedder=embedder, clock=clock) as engine:
            await engine.worker.close()
            engine.queue.kick = lambda: None  # type: ignore[method-assign]
            memory = engine.agent("planner")
            embedder.down = True
            words = ["poison" if number == 17 else f"word{number}" for number in range(40)]
            await memory.add_memories([{"content": f"the {word}"} for word in words])
            embedder.down = False
            assert await engine.queue.drain() == 39
            ((attempts, _, error),) = await queue_rows(engine)
            assert (attempts, error) == (1, "this text is refused")

    async def test_the_worker_in_the_background_empties_the_queue(
        self, url: str, server: ScriptedModelServer
    ) -> None:
        async with waypost.open(url, embedder=remote(server)) as engine:
            server.fail(DOWN)
            stored = await engine.agent("planner").add_memory("embedded in the background")
            assert not stored.embedded
            await engine.queue.join()
            assert await has_vector(engine, stored.memory_id)


class Refusing(HashEmbedder):
    """Refuses a batch that has a certain word in it, as providers do with texts too long."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word
        self.down = False

    async def embed_documents(self, texts: Any) -> Any:
        if self.down or any(self.word in text for text in texts):
            raise ProviderError("this text is refused")
        return await super().embed_documents(texts)


class TestOnFile(QueueSuite, OnFile): ...


class TestOnPostgres(QueueSuite, OnPostgres): ...


def test_the_delay_grows_to_a_bound_however_often_it_failed() -> None:
    delays = [vectors.retry_delay(attempts) for attempts in (0, 1, 2, 5, 20, 10_000)]
    assert delays == sorted(delays)
    assert delays[0] == timedelta(seconds=2)
    assert delays[-1] == LONGEST_RETRY
