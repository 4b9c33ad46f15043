"""Vectors that were paid for are kept in the database, per agent, and go with its memories."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from sqlalchemy import func, select

import waypost
from tests.clocks import Clock
from tests.engines import OnFile, OnPostgres
from waypost import Engine, MemoryManager
from waypost.embed.openai_compatible import OpenAICompatibleEmbedder
from waypost.store.embedding_cache import KEPT
from waypost.store.tables import embedding_cache
from waypost.testing import ScriptedModelServer

MONDAY = Clock().now


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(dimension=64) as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


def remote(server: ScriptedModelServer) -> OpenAICompatibleEmbedder:
    return OpenAICompatibleEmbedder("scripted", base_url=server.base_url, dimension=64)


async def cached(engine: Engine) -> int:
    def count(connection: Any) -> int:
        return int(connection.execute(select(func.count()).select_from(embedding_cache)).scalar())

    return await engine.database.read(count)


async def note(memory: MemoryManager, text: str = "the same words") -> str:
    return (await memory.add_memory(text, kind="note", timestamp=MONDAY)).memory_id


class CacheSuite:
    @pytest.fixture
    async def engine(
        self, url: str, server: ScriptedModelServer, clock: Clock
    ) -> AsyncIterator[Engine]:
        async with waypost.open(url, embedder=remote(server), clock=clock) as engine:
            yield engine

    async def test_the_same_text_is_asked_for_once_also_by_a_later_process(
        self, engine: Engine, url: str, server: ScriptedModelServer, clock: Clock
    ) -> None:
        await note(engine.agent("planner"))
        await note(engine.agent("planner"))
        async with waypost.open(url, embedder=remote(server), clock=clock) as later:
            await note(later.agent("planner"))
        assert len(server.requests) == 1

    async def test_agents_do_not_share_what_they_paid_for(
        self, engine: Engine, server: ScriptedModelServer
    ) -> None:
        await note(engine.agent("planner"))
        await note(engine.agent("writer"))
        assert len(server.requests) == 2

    async def test_reading_writes_nothing(self, engine: Engine, memory: MemoryManager) -> None:
        await note(memory)
        await memory.retrieve_memories("which words?")
        assert await cached(engine) == 1

    async def test_forgetting_a_memory_forgets_the_vector(
        self, engine: Engine, memory: MemoryManager
    ) -> None:
        await memory.forget_memory(await note(memory))
        assert await cached(engine) == 0

    async def test_old_entries_make_way(
        self, engine: Engine, memory: MemoryManager, clock: Clock
    ) -> None:
        await note(memory, "an old text")
        clock.now += KEPT * 2
        await note(memory, "a new text")
        assert await cached(engine) == 1

    async def test_the_local_embedder_is_not_cached(self, tmp_path: Any) -> None:
        async with waypost.open(tmp_path / "local.db") as engine:
            await note(engine.agent("planner"))
            assert await cached(engine) == 0


class TestOnFile(CacheSuite, OnFile): ...


class TestOnPostgres(CacheSuite, OnPostgres): ...
