"""How recall is narrowed, scored and labelled, on every database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.engines import OnFile, OnPostgres
from waypost import Engine, MemoryManager, StageType, TimeRange, Weights
from waypost.exceptions import InvalidInput

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
NOON = MONDAY + timedelta(hours=3)


class RecallSuite:
    async def test_every_filter_narrows_and_none_lets_a_stranger_through(
        self, memory: MemoryManager
    ) -> None:
        await memory.start_task("Audit the crawler", task_id="audit")
        stage = await memory.start_stage("audit", StageType.PLANNING)
        wanted = await memory.add_memory(
            "The crawler from Lisbon reported a broken link",
            task_id="audit", project_id="web", run_id="r-1", kind="failure", type="episodic",
            tags=("bug",), keywords=("link",), entities=("Lisbon",), timestamp=MONDAY,
            metadata={"severity": 3},
        )  # fmt: skip
        await memory.add_memory("The crawler is written in Rust", kind="note", timestamp=NOON)
        for filters in (
            {"types": ("episodic",), "kinds": ("failure",)},
            {"kinds": ("failure", "nothing")},
            {"tier": "task"},
            {"task_id": "audit"},
            {"project_id": "web"},
            {"run_id": "r-1"},
            {"stage_id": stage.stage_id},
            {"time_range": TimeRange(start=MONDAY, end=MONDAY + timedelta(hours=1))},
            {"entities": ("Lisbon",)},
            {"keywords": ("link",)},
            {"tags": ("bug",)},
            {"as_of": MONDAY},
            {"where": {"metadata.severity": {"$gte": 3}}},
        ):
            recall = await memory.retrieve_memories("crawler", **filters)
            assert [found.memory_id for found in recall] == [wanted.memory_id], filters

    async def test_filters_that_match_nothing_find_nothing_and_are_no_failure(
        self, memory: MemoryManager
    ) -> None:
        await memory.add_memory("The crawler is written in Rust")
        recall = await memory.retrieve_memories("crawler", tags=("nothing",))
        assert (len(recall), recall.degraded) == (0, False)

    async def test_a_naive_moment_is_refused(self, memory: MemoryManager) -> None:
        naive = datetime(2026, 3, 2)  # noqa: DTZ001
        for arguments in ({"now": naive}, {"as_of": naive}):
            with pytest.raises(InvalidInput, match="time zone"):
                await memory.retrieve_memories("crawler", **arguments)

    async def test_the_half_life_is_exactly_that(self, memory: MemoryManager) -> None:
        await memory.add_memory("The kettle whistles", timestamp=MONDAY)
        for hours, expected in ((0, 1.0), (24, 0.5), (48, 0.25)):
            now = MONDAY + timedelta(hours=hours)
            (found,) = await memory.retrieve_memories("kettle", now=now)
            assert found.why.factors.recency == pytest.approx(expected)
        (found,) = await memory.retrieve_memories("kettle", now=now, half_life_hours=48)
        assert found.why.factors.recency == pytest.approx(0.5)

    async def test_an_agent_may_have_weights_and_a_half_life_of_its_own(
        self, engine: Engine, memory: MemoryManager
    ) -> None:
        await memory.add_memory("The kettle whistles", timestamp=MONDAY)
        asked: dict[str, Any] = {"query": "kettle", "now": MONDAY + timedelta(hours=72)}
        await memory.set_profile(weights=Weights(relevance=0, frequency=0, stage=0, criticality=0))
        await memory.set_profile(half_life_hours=72)
        (found,) = await memory.retrieve_memories(**asked)
        assert found.score == pytest.approx(0.5)
        only_stage = Weights(relevance=0, recency=0, frequency=0, stage=1, criticality=0)
        (found,) = await memory.retrieve_memories(**asked, weights=only_stage, half_life_hours=24)
        assert found.why.factors.recency == pytest.approx(0.125)
        assert found.score == found.why.factors.stage
        assert (await engine.agent("stranger").get_profile()).half_life_hours == 24

    async def test_a_profile_that_makes_no_sense_is_refused(self, memory: MemoryManager) -> None:
        with pytest.raises(InvalidInput, match="half_life_hours"):
            await memory.set_profile(half_life_hours=0)
        with pytest.raises(InvalidInput, match="not a field"):
            await memory.set_profile(mood="good")
        assert await memory.get_profile() == await memory.set_profile()

    async def test_what_is_valid_for_a_time_is_recalled_until_then(
        self, memory: MemoryManager
    ) -> None:
        await memory.add_memory("The voucher SPRING works", timestamp=MONDAY, valid_to=NOON)
        (found,) = await memory.retrieve_memories("voucher", now=MONDAY)
        assert found.why.note == "valid until 2026-03-02 12:00 UTC"
        assert len(await memory.retrieve_memories("voucher", now=NOON)) == 0
        assert len(await memory.retrieve_memories("voucher", as_of=MONDAY)) == 1

    async def test_a_superseded_fact_that_was_asked_for_says_so(
        self, memory: MemoryManager
    ) -> None:
        await memory.add_memory("The staging port is 8443", timestamp=MONDAY)
        await memory.add_memory("The staging port is 9000", timestamp=NOON)
        recall = await memory.retrieve_memories("staging port", include_superseded=True)
        notes = {found.memory.content[-4:]: found.why.note for found in recall}
        assert notes == {"8443": "superseded on 2026-03-02 12:00 UTC", "9000": None}
        assert all(not found.conflicts_with for found in recall)


class ConflictSuite:
    async def test_contradictions_that_both_hold_are_labelled(self, memory: MemoryManager) -> None:
        general = await memory.add_memory("The staging port is 8443")
        special = await memory.add_memory("The staging port is 9000", project_id="shop")
        recall = await memory.retrieve_memories("staging port")
        assert {found.memory_id: found.conflicts_with for found in recall} == {
            general.memory_id: (special.memory_id,),
            special.memory_id: (general.memory_id,),
        }
        assert all("also holds" in (found.why.note or "") for found in recall)

    async def test_a_contradiction_is_named_even_when_it_is_not_recalled(
        self, memory: MemoryManager
    ) -> None:
        general = await memory.add_memory("The staging port is 8443")
        await memory.add_memory("The staging port is 9000", project_id="shop")
        (found,) = await memory.retrieve_memories("staging port", project_id="shop")
        assert found.conflicts_with == (general.memory_id,)

    async def test_projects_do_not_contradict_each_other_nor_does_agreement(
        self, memory: MemoryManager
    ) -> None:
        await memory.add_memory("The staging port is 8443", project_id="shop")
        await memory.add_memory("The staging port is 9000", project_id="blog")
        await memory.add_memory("The release manager is Ana")
        await memory.add_memory("The release manager is ana.", project_id="shop")
        for question in ("staging port", "release manager"):
            recall = await memory.retrieve_memories(question)
            assert {found.conflicts_with for found in recall} == {()}

    async def test_a_document_nobody_vouches_for_closes_nothing(
        self, memory: MemoryManager
    ) -> None:
        known = await memory.add_memory("The staging port is 8443", origin="user", timestamp=MONDAY)
        read = await memory.add_memory(
            "The staging port is 6666", origin="document", timestamp=NOON
        )
        assert read.superseded == ()
        recall = await memory.retrieve_memories("staging port")
        assert {found.memory_id: found.conflicts_with for found in recall} == {
            known.memory_id: (read.memory_id,),
            read.memory_id: (known.memory_id,),
        }
        late = await memory.add_memory(
            "The staging port is 1234", origin="user", timestamp=NOON - timedelta(hours=1)
        )
        assert late.superseded == (known.memory_id,)


class TestOnFile(RecallSuite, ConflictSuite, OnFile): ...


class TestOnPostgres(RecallSuite, ConflictSuite, OnPostgres): ...


class TestSearchedInPostgres(RecallSuite, ConflictSuite, OnPostgres):
    """Every agent counts as large, so that the database nominates the candidates."""

    @pytest.fixture(autouse=True)
    def all_agents_are_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("waypost.retrieve.postgres.IN_PROCESS_ROWS", 0)
