"""Moving a memory to another embedder, on every database, while others read and write."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

import waypost
from tests.clocks import Clock
from tests.engines import OnFile, OnPostgres
from waypost import Engine
from waypost.exceptions import DimensionMismatch, ProviderUnavailable
from waypost.store import memories, vectors
from waypost.testing import HashEmbedder

OLD, NEW = HashEmbedder(32), HashEmbedder(48)
NOTES = 600


class Interrupted(HashEmbedder):
    """Works for some calls, then fails as a provider does."""

    def __init__(self, dimension: int, calls: int) -> None:
        super().__init__(dimension)
        self.calls = calls

    async def embed_documents(self, texts: Sequence[str]) -> Any:
        if self.calls == 0:
            raise ProviderUnavailable("the provider is down")
        self.calls -= 1
        return await super().embed_documents(texts)


class Watched(HashEmbedder):
    """Lets a test act between two portions of the move."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> Any:
        rows = await super().embed_documents(texts)
        self.reached.set()
        await self.go_on.wait()
        return rows


async def fill(url: str, amount: int = NOTES) -> None:
    async with waypost.open(url, embedder=OLD) as engine:
        for agent in ("planner", "writer"):
            notes = [{"content": f"{agent} note {n}", "kind": "note"} for n in range(amount // 2)]
            await engine.agent(agent).add_memories(notes)


async def embedders_of(engine: Engine, content: str) -> set[str]:
    (record,) = await engine.agent("planner").list_memories({"content": content})
    found = await engine.database.read(
        memories.vector_of, "planner", record.memory_id, agent="planner"
    )
    return set() if found is None else {found[0]}


class ReembedSuite:
    async def test_every_memory_moves_and_progress_is_told(self, url: str) -> None:
        await fill(url)
        told: list[tuple[int, int]] = []
        made = await waypost.reembed(url, NEW, progress=lambda *step: told.append(step))
        assert made == NOTES
        assert told == sorted(told)
        assert told[-1] == (NOTES, NOTES)
        async with waypost.open(url, embedder=NEW) as engine:
            recall = await engine.agent("writer").retrieve_memories("writer note 7", k=3)
            assert not recall.degraded
            assert "vector" in {hit.route for hit in recall[0].why.routes}

    async def test_an_empty_memory_takes_the_new_embedder(self, url: str) -> None:
        await fill(url, amount=0)
        assert await waypost.reembed(url, NEW) == 0
        async with waypost.open(url, embedder=NEW):
            pass

    async def test_the_wrong_embedder_is_refused_before_and_after(self, url: str) -> None:
        await fill(url, amount=2)
        with pytest.raises(DimensionMismatch, match=r"hash-32.*reembed"):
            await waypost.open(url, embedder=NEW)
        await waypost.reembed(url, NEW)
        with pytest.raises(DimensionMismatch, match="hash-48"):
            await waypost.open(url, embedder=OLD)

    async def test_a_failed_move_changes_nothing_and_the_next_goes_on(self, url: str) -> None:
        await fill(url)
        with pytest.raises(ProviderUnavailable):
            await waypost.reembed(url, Interrupted(48, calls=1))
        async with waypost.open(url, embedder=OLD) as engine:
            assert not (await engine.agent("planner").retrieve_memories("planner note 1")).degraded
        assert 0 < await waypost.reembed(url, NEW) < NOTES

    async def test_moving_twice_makes_nothing_new(self, url: str) -> None:
        await fill(url, amount=10)
        await waypost.reembed(url, NEW)
        assert await waypost.reembed(url, NEW) == 0

    async def test_readers_and_writers_go_on_during_the_move(self, url: str) -> None:
        await fill(url, amount=20)
        slow = Watched(48)
        async with waypost.open(url, embedder=OLD) as engine:
            memory = engine.agent("planner")
            move = asyncio.create_task(waypost.reembed(url, slow))
            await slow.reached.wait()

            recall = await memory.retrieve_memories("planner note 3")
            assert not recall.degraded
            added = await memory.add_memory("written during the move", kind="note")
            (changed,) = await memory.list_memories({"content": "planner note 5"})
            await memory.update_memory(changed.memory_id, content="changed during the move")
            (gone,) = await memory.list_memories({"content": "planner note 6"})
            await memory.forget_memory(gone.memory_id)

            slow.go_on.set()
            assert await move == 20 - 1 + 1
            assert added.embedded
        async with waypost.open(url, embedder=NEW) as engine:
            for content in ("written during the move", "changed during the move"):
                assert await embedders_of(engine, content) == {"hash-48"}
                recall = await engine.agent("planner").retrieve_memories(content, k=1)
                (by_vector,) = [hit for hit in recall[0].why.routes if hit.route == "vector"]
                assert by_vector.rank == 1

    async def test_an_engine_with_the_old_embedder_says_that_the_memory_moved(
        self, url: str
    ) -> None:
        await fill(url, amount=20)
        async with waypost.open(url, embedder=OLD) as engine:
            memory = engine.agent("planner")
            await memory.retrieve_memories("planner note 3")
            await waypost.reembed(url, NEW)

            recall = await memory.retrieve_memories("planner note 3", k=1)
            assert recall.degraded
            assert "hash-48" in recall.reasons[0]
            assert recall[0].memory.content == "planner note 3"
            assert "vector" not in {hit.route for hit in recall[0].why.routes}

            added = await memory.add_memory("written with the old embedder", kind="note")
            assert not added.embedded
            await memory.update_memory(added.memory_id, content="changed with the old embedder")
            assert await engine.queue.drain() == 0
        async with waypost.open(url, embedder=NEW) as engine:
            await engine.queue.join()
            assert await embedders_of(engine, "changed with the old embedder") == {"hash-48"}

    async def test_a_worker_of_the_old_embedder_stores_nothing_after_the_move(
        self, url: str
    ) -> None:
        clock = Clock()
        down = Interrupted(32, calls=0)
        async with waypost.open(url, embedder=down, clock=clock) as engine:
            await engine.worker.close()
            engine.queue.kick = lambda: None  # type: ignore[method-assign]
            await engine.agent("planner").add_memory("waiting", kind="note")
            claimed = await engine.database.write(vectors.claim, OLD.name, clock(), 10)
            await waypost.reembed(url, NEW)
            made = {item.row_id: [1.0] * 32 for item in claimed}
            stored = await engine.database.write(
                vectors.attach, OLD.name, made, claimed, clock(), agent="planner"
            )
            assert stored == 0
            assert await embedders_of(engine, "waiting") == {"hash-48"}


class TestOnFile(ReembedSuite, OnFile): ...


class TestOnPostgres(ReembedSuite, OnPostgres):
    async def test_each_embedder_has_its_own_vector_index(self, url: str) -> None:
        import psycopg

        def indexes() -> list[str]:
            with psycopg.connect(url) as connection:
                rows = connection.execute(
                    "SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'ix_embeddings_nearest_%'"
                )
                return [row[0] for row in rows]

        await fill(url, amount=4)
        (before,) = indexes()
        assert "halfvec(32)" in before
        assert "hnsw" in before
        assert "'hash-32'" in before
        await waypost.reembed(url, NEW)
        (after,) = indexes()
        assert "halfvec(48)" in after
