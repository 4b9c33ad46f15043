"""An embedder that somebody else wrote cannot break a write or a recall."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

import waypost
from waypost import Engine
from waypost.exceptions import InvalidInput, ProviderError
from waypost.testing import HashEmbedder


class Homemade(HashEmbedder):
    """Returns lists, as people do, and fails in the ways people's code does."""

    def __init__(self) -> None:
        super().__init__(8)
        self.answer: Any = None

    async def embed_documents(self, texts: Sequence[str]) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is not None:
            return self.answer
        return [[2.0 * value for value in row] for row in await super().embed_documents(texts)]

    async def embed_query(self, text: str) -> Any:
        return (await self.embed_documents([text]))[0]


@pytest.fixture
def homemade() -> Homemade:
    return Homemade()


@pytest.fixture
async def engine(homemade: Homemade) -> AsyncIterator[Engine]:
    async with waypost.open(":memory:", embedder=homemade) as engine:
        yield engine


async def test_lists_of_any_length_become_unit_vectors(engine: Engine) -> None:
    stored = await engine.agent("a").add_memory("The kettle is red")
    assert stored.embedded
    (found,) = await engine.agent("a").retrieve_memories("kettle")
    assert "vector" in {hit.route for hit in found.why.routes}


@pytest.mark.parametrize(
    "answer",
    [
        RuntimeError("CUDA out of memory"),
        KeyError("embedding"),
        [],
        [[1.0] * 7],
        [[0.0] * 8],
        [[float("nan")] * 8],
        [["a", "b"]],
        "nonsense",
    ],
    ids=str,
)
async def test_what_it_does_wrong_costs_a_vector_and_nothing_else(
    engine: Engine, homemade: Homemade, answer: Any
) -> None:
    memory = engine.agent("a")
    await memory.add_memory("The teapot is blue")
    homemade.answer = answer
    stored = await memory.add_memory("The kettle is red")
    assert not stored.embedded
    recall = await memory.retrieve_memories("kettle")
    assert recall[0].memory_id == stored.memory_id
    assert recall.degraded
    assert recall.reasons[0].startswith("searched by words only, the embedder failed")
    changed = await memory.update_memory(stored.memory_id, content="The kettle is green")
    assert changed.version == 2
    homemade.answer = None
    assert await engine.queue.drain() == 1
    assert not (await memory.retrieve_memories("kettle")).degraded


async def test_a_recall_does_not_wait_for_an_embedder_that_hangs(
    engine: Engine, homemade: Homemade, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(text: str) -> None:
        await asyncio.Event().wait()

    stored = await engine.agent("a").add_memory("The kettle is red")
    monkeypatch.setattr("waypost.retrieve.retriever.QUERY_PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(homemade, "embed_query", hang)
    recall = await engine.agent("a").retrieve_memories("kettle")
    assert recall[0].memory_id == stored.memory_id
    assert "no answer within 0.05 seconds" in recall.reasons[0]


async def test_the_error_says_what_happened(engine: Engine, homemade: Homemade) -> None:
    homemade.answer = RuntimeError("CUDA out of memory")
    with pytest.raises(ProviderError, match="hash-8 failed with RuntimeError: CUDA out of memory"):
        await engine.embedder.embed_query("x")


def test_options_beside_a_ready_made_embedder_are_refused(homemade: Homemade) -> None:
    with pytest.raises(InvalidInput, match="'api_kee'"):
        waypost.open(":memory:", embedder=homemade, api_kee="x")
