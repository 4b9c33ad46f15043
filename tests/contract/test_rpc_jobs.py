"""Background work across workers: every job is done, and done once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import waypost
from waypost.exceptions import ProviderUnavailable
from waypost.model import utc_now
from waypost.testing import HashEmbedder


class Outage(HashEmbedder):
    """An embedder that can be switched off, and that several engines share."""

    def __init__(self) -> None:
        super().__init__()
        self.down = True
        self.embedded: Counter[str] = Counter()

    async def embed_documents(self, texts: Sequence[str]) -> Any:
        if self.down:
            raise ProviderUnavailable("switched off")
        await asyncio.sleep(0)  # let the other engine in
        self.embedded.update(texts)
        return await super().embed_documents(texts)


class Clock:
    """The real time, moved on by the test."""

    ahead = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.ahead


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
async def test_each_waiting_vector_is_made_exactly_once(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = str(tmp_path / "memory.db")
    if store == "postgresql":
        url = request.getfixturevalue("postgres_url")
    embedder, clock = Outage(), Clock()
    async with (
        waypost.open(url, embedder=embedder, clock=clock) as one,
        waypost.open(url, embedder=embedder, clock=clock) as other,
    ):
        memory = one.agent("planner")
        await memory.add_memories({"content": f"Crate {n} holds lamps."} for n in range(300))
        assert (await memory.get_statistics()).waiting_for_vectors == 300
        for engine in (one, other):
            await engine.worker.close()
            await engine.queue.close()  # a lease taken now would end with the jump in time
        embedder.down = False
        clock.ahead = timedelta(hours=2)
        done = await asyncio.gather(*(engine.queue.drain() for engine in (one, other) * 3))
        assert (await memory.get_statistics()).waiting_for_vectors == 0
        assert len(embedder.embedded) == 300
        assert set(embedder.embedded.values()) == {1}
        assert sum(done) <= 300
