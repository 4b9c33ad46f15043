"""The port between retrieval and an index: whatever answers it is held to this suite.

An index is a view of the database that can be thrown away: it nominates memories and says why,
sees every committed change, and answers the same after it was rebuilt.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

import waypost
from tests.engines import OnFile, OnPostgres
from waypost import Engine, MemoryManager
from waypost.encode.terms import analyze
from waypost.filters import parse_where
from waypost.filters.memory_fields import MEMORY_FIELDS
from waypost.index import Candidates
from waypost.retrieve.search import Search, SearchQuery
from waypost.store import feed, memories

NOTES = (
    "The deploy script lives in the tools folder",
    "Martina approves the budget for cloud costs",
    "The printer on floor two is broken again",
    "Release notes are written by Jonas",
    "Lunch is at noon in the canteen",
)


class SearchSuite:
    @pytest.fixture
    def search(self, engine: Engine) -> Search:
        return engine.search

    @pytest.fixture
    async def notes(self, memory: MemoryManager) -> dict[str, str]:
        stored = await memory.add_memories([{"content": text, "kind": "note"} for text in NOTES])
        return {receipt.memory.content: receipt.memory_id for receipt in stored}

    async def found(
        self, engine: Engine, search: Search, text: str, agent: str = "planner", **details: Any
    ) -> tuple[list[str], Candidates]:
        """The contents that an index nominates, best first, and the answer itself."""
        vector = await engine.embedder.embed_query(text)
        asked = {"terms": tuple(analyze(text)), "vector": vector, "limit": 10} | details
        query = SearchQuery(text=text, entities=(), now=datetime.now(UTC), **asked)

        def work(connection: Any) -> tuple[list[str], Candidates]:
            newest = feed.state(connection, agent).newest_change
            answer = search.candidates(connection, agent, query, newest)
            records = memories.by_rows(connection, agent, answer.row_ids.tolist())
            return [records[row].content for row in answer.row_ids.tolist()], answer

        return await engine.database.read(work, agent=agent)

    async def test_the_best_comes_first_with_its_routes(
        self, engine: Engine, search: Search, notes: dict[str, str]
    ) -> None:
        contents, answer = await self.found(engine, search, "who approves the cloud budget")
        assert contents[0] == NOTES[1]
        assert np.all(np.diff(answer.relevance) <= 0)
        assert {name for name, _, _ in answer.found_by(0)} >= {"text", "vector"}
        assert all(rank >= 1 for _, rank, _ in answer.found_by(0))
        assert all(len(route.scores) == len(answer) for route in answer.routes.values())

    async def test_words_alone_and_meaning_alone_are_enough(
        self, engine: Engine, search: Search, notes: dict[str, str]
    ) -> None:
        by_words, answer = await self.found(engine, search, "printer", vector=None)
        assert by_words[0] == NOTES[2]
        assert "vector" not in {name for name, _, _ in answer.found_by(0)}
        by_meaning, answer = await self.found(engine, search, "the printer does not work", terms=())
        assert by_meaning[0] == NOTES[2]
        assert "text" not in {name for name, _, _ in answer.found_by(0)}

    @pytest.mark.parametrize("place", [{"run_id": "trip"}, {"task_id": "trip"}])
    async def test_an_answer_is_found_through_the_question_before_it(
        self, engine: Engine, search: Search, memory: MemoryManager, place: dict[str, str]
    ) -> None:
        said = ("Which hotel did you book in Lisbon?", "The blue one near the river")
        await memory.add_memories([{"content": text, "kind": "note", **place} for text in said])
        contents, answer = await self.found(engine, search, "Lisbon hotel")
        assert contents == list(said)
        assert "context" in {name for name, _, _ in answer.found_by(1)}

    async def test_limit_and_filter_are_kept(
        self, engine: Engine, search: Search, memory: MemoryManager, notes: dict[str, str]
    ) -> None:
        contents, _ = await self.found(engine, search, "the", limit=2)
        assert len(contents) <= 2
        await memory.update_memory(notes[NOTES[3]], tags=("people",))
        where = parse_where({"tags": {"$contains": "people"}}, MEMORY_FIELDS)
        contents, _ = await self.found(engine, search, "budget release", where=where)
        assert contents == [NOTES[3]]

    async def test_every_committed_change_is_seen(
        self, engine: Engine, search: Search, memory: MemoryManager, notes: dict[str, str], url: str
    ) -> None:
        await self.found(engine, search, "printer")
        async with waypost.open(url) as other:
            elsewhere = other.agent("planner")
            await elsewhere.update_memory(notes[NOTES[2]], content="The scanner was repaired")
            await elsewhere.forget_memory(notes[NOTES[4]])
            await elsewhere.add_memory("The scanner is on floor five", kind="note")
        contents, _ = await self.found(engine, search, "scanner on which floor")
        assert set(contents[:2]) == {"The scanner was repaired", "The scanner is on floor five"}
        assert not {NOTES[2], NOTES[4]} & set(contents)

    async def test_superseded_memories_are_nominated_only_when_asked_for(
        self, engine: Engine, search: Search, memory: MemoryManager
    ) -> None:
        await memory.add_memory("The staging port is 8443")
        await memory.add_memory("The staging port is 9000")
        contents, _ = await self.found(engine, search, "staging port")
        assert contents == ["The staging port is 9000"]
        contents, _ = await self.found(engine, search, "staging port", include_inactive=True)
        assert len(contents) == 2

    async def test_agents_are_searched_apart(
        self, engine: Engine, search: Search, notes: dict[str, str]
    ) -> None:
        await engine.agent("other").add_memory("The printer is mine")
        contents, _ = await self.found(engine, search, "printer", agent="other")
        assert contents == ["The printer is mine"]
        contents, _ = await self.found(engine, search, "printer", agent="nobody")
        assert contents == []

    async def test_it_can_be_thrown_away(
        self, engine: Engine, search: Search, notes: dict[str, str]
    ) -> None:
        before, first = await self.found(engine, search, "who writes the release notes")
        search.forget("planner")
        after, second = await self.found(engine, search, "who writes the release notes")
        assert after == before
        assert np.allclose(first.relevance, second.relevance, atol=1e-5)


class TestEmbedded(SearchSuite, OnFile): ...


class TestInProcessOnPostgres(SearchSuite, OnPostgres): ...


class TestInsidePostgres(SearchSuite, OnPostgres):
    @pytest.fixture
    def search(self, engine: Engine) -> Search:
        from waypost.retrieve.postgres_candidates import DatabaseSearch

        return DatabaseSearch(engine.embedder.name, engine.embedder.dimension)
