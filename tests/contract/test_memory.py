"""What a memory does, on every database: one suite, inherited by each."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.engines import InMemory, OnFile, OnPostgres
from waypost import Engine, MemoryManager, NewMemory, Tier, TimeRange, Weights
from waypost.exceptions import (
    ContentTooLarge,
    DimensionMismatch,
    IdempotencyConflict,
    InvalidInput,
    NotFound,
    UnknownField,
    UnknownOperator,
    VersionConflict,
)
from waypost.model import LinkKind, MemoryLink, MemoryType

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


class MemorySuite:
    async def test_what_was_added_is_read_back_unchanged(self, memory: MemoryManager) -> None:
        stored = await memory.add_memory(
            "Grafana dashboards live in the ops repository 📈",
            project_id="shop",
            tags=("ops", "dashboards"),
            metadata={"ticket": {"id": 17}},
            timestamp=MONDAY,
            importance=0.7,
        )
        found = await memory.get_memory(stored.memory_id)
        assert found == stored.memory
        assert found.tier is Tier.PROJECT
        assert found.metadata == {"ticket": {"id": 17}}
        assert found.timestamp == MONDAY

    async def test_an_interaction_gives_an_episode_its_facts_and_what_worked(
        self, memory: MemoryManager
    ) -> None:
        stored = await memory.add_interaction(
            "Deploy the shop to staging",
            "Deployed.",
            actions=[{"name": "deploy", "arguments": {"target": "staging"}, "success": True}],
            outcome="The staging port is 8443.",
            success=True,
            task_id="release",
        )
        assert stored.memory.type is MemoryType.EPISODIC
        assert [(m.type, m.kind) for m in stored.derived] == [
            (MemoryType.SEMANTIC, "fact"),
            (MemoryType.PROCEDURAL, "strategy"),
        ]
        parent = MemoryLink(kind=LinkKind.PARENT, target_id=stored.memory_id)
        assert all(parent in derived.links for derived in stored.derived)
        assert all(derived.task_id == "release" for derived in stored.derived)

    async def test_a_batch_is_stored_in_order_or_not_at_all(self, memory: MemoryManager) -> None:
        batch = [NewMemory(content=f"event number {i}") for i in range(20)]
        stored = await memory.add_memories(batch)
        assert [s.memory.content for s in stored] == [new.content for new in batch]
        with pytest.raises(InvalidInput, match="empty"):
            await memory.add_memories([{"content": "kept only with the other"}, {"content": " "}])
        assert await memory.count_memories() == 20

    async def test_the_same_idempotency_key_stores_one_record(self, memory: MemoryManager) -> None:
        first = await memory.add_interaction("ping", "pong", idempotency_key="step-1")
        again = await memory.add_interaction("ping", "pong", idempotency_key="step-1")
        assert again.duplicate
        assert again.memory_id == first.memory_id
        assert await memory.count_memories() == 1

    async def test_the_same_idempotency_key_with_another_body_is_refused(
        self, memory: MemoryManager
    ) -> None:
        await memory.add_memory("the first body", idempotency_key="step-1")
        with pytest.raises(IdempotencyConflict, match="step-1"):
            await memory.add_memory("another body", idempotency_key="step-1")
        assert await memory.count_memories() == 1

    async def test_knowledge_is_kept_once_and_events_each_time(self, memory: MemoryManager) -> None:
        first = await memory.add_memory("We decided to use Postgres 16.")
        again = await memory.add_memory("we decided to use  Postgres 16.")
        assert again.duplicate
        assert again.memory_id == first.memory_id
        await memory.add_memory("ok, done", kind="message")
        await memory.add_memory("ok, done", kind="message")
        assert await memory.count_memories() == 3

    async def test_a_newer_fact_closes_the_older_one_and_deletes_nothing(
        self, memory: MemoryManager
    ) -> None:
        old = await memory.add_memory("The staging port is 8443", timestamp=MONDAY)
        new = await memory.add_memory(
            "The staging port is 9000", timestamp=MONDAY + timedelta(days=1)
        )
        assert new.superseded == (old.memory_id,)
        closed = await memory.get_memory(old.memory_id)
        assert closed.valid_to == MONDAY + timedelta(days=1)
        assert closed.superseded_by == new.memory_id
        assert [e.operation for e in await memory.get_history(old.memory_id)] == [
            "add",
            "supersede",
        ]

    async def test_a_fact_that_arrives_late_does_not_close_the_newer_one(
        self, memory: MemoryManager
    ) -> None:
        new = await memory.add_memory("The staging port is 9000", timestamp=MONDAY)
        late = await memory.add_memory(
            "The staging port is 8443", timestamp=MONDAY - timedelta(days=3)
        )
        assert late.memory.superseded_by == new.memory_id
        assert (await memory.get_memory(new.memory_id)).active

    async def test_facts_of_different_projects_do_not_close_each_other(
        self, memory: MemoryManager
    ) -> None:
        await memory.add_memory("The staging port is 8443", project_id="shop")
        other = await memory.add_memory("The staging port is 9000", project_id="blog")
        assert other.superseded == ()

    async def test_recall_leaves_superseded_facts_out_unless_asked(
        self, memory: MemoryManager
    ) -> None:
        old = await memory.add_memory("The staging port is 8443", timestamp=MONDAY)
        new = await memory.add_memory(
            "The staging port is 9000", timestamp=MONDAY + timedelta(days=1)
        )
        now = await memory.retrieve_memories("staging port")
        assert [r.memory_id for r in now] == [new.memory_id]
        everything = await memory.retrieve_memories("staging port", include_superseded=True)
        assert {r.memory_id for r in everything} == {old.memory_id, new.memory_id}
        then = await memory.retrieve_memories("staging port", as_of=MONDAY + timedelta(hours=1))
        assert [r.memory_id for r in then] == [old.memory_id]

    async def test_recall_finds_the_right_memory_and_says_why(self, memory: MemoryManager) -> None:
        await _write_notes(memory)
        recall = await memory.retrieve_memories("who approves the budget?", k=3)
        best = recall[0]
        assert "Martina" in best.memory.content
        assert not recall.degraded
        assert {hit.route for hit in best.why.routes} >= {"text", "vector"}
        assert all(hit.rank >= 1 for hit in best.why.routes)
        factors = best.why.factors.model_dump()
        assert all(0.0 <= value <= 1.0 for value in factors.values())
        assert [r.score for r in recall] == sorted((r.score for r in recall), reverse=True)

    async def test_recall_is_limited_by_every_filter(self, memory: MemoryManager) -> None:
        await memory.add_memory(
            "The crawler found a broken link", project_id="web", tags=("bug",), timestamp=MONDAY
        )
        await memory.add_memory(
            "The crawler found a slow page", task_id="t-1", timestamp=MONDAY + timedelta(days=7)
        )
        await memory.add_memory("The crawler is written in Rust", kind="note")
        cases: list[tuple[dict[str, Any], str]] = [
            ({"project_id": "web"}, "broken"),
            ({"tags": ("bug",)}, "broken"),
            ({"task_id": "t-1"}, "slow"),
            ({"tier": "task"}, "slow"),
            ({"tier": "global"}, "Rust"),
            ({"time_range": TimeRange(end=MONDAY + timedelta(days=1))}, "broken"),
            ({"where": {"tags": {"$contains": "bug"}}}, "broken"),
        ]
        for filters, word in cases:
            recall = await memory.retrieve_memories("crawler", **filters)
            assert [word in r.memory.content for r in recall] == [True], filters

    async def test_weights_change_the_order(self, memory: MemoryManager) -> None:
        now = MONDAY + timedelta(days=30)
        old = await memory.add_memory("the cache warmer runs nightly", timestamp=MONDAY)
        new = await memory.add_memory("the cache was looked at", timestamp=now)
        by_words = await memory.retrieve_memories(
            "cache warmer nightly", now=now, weights=Weights(recency=0, relevance=1)
        )
        by_time = await memory.retrieve_memories(
            "cache warmer nightly", now=now, weights=Weights(recency=1, relevance=0)
        )
        assert by_words[0].memory_id == old.memory_id
        assert by_time[0].memory_id == new.memory_id

    async def test_critical_memories_score_higher(self, memory: MemoryManager) -> None:
        plain = await memory.add_memory("backups run at night", kind="note", timestamp=MONDAY)
        critical = await memory.add_memory(
            "backups run at night", kind="message", is_critical=True, timestamp=MONDAY
        )
        recall = await memory.retrieve_memories("when do backups run?")
        assert [r.memory_id for r in recall] == [critical.memory_id, plain.memory_id]
        assert recall[0].why.factors.criticality == 1.0

    async def test_links_of_the_best_hits_are_candidates(self, memory: MemoryManager) -> None:
        cause = await memory.add_memory("A certificate expired at midnight")
        effect = await memory.add_memory(
            "Checkout was down for customers",
            links=(MemoryLink(kind=LinkKind.RELATED, target_id=cause.memory_id),),
        )
        recall = await memory.retrieve_memories("customers checkout down", k=2)
        assert [r.memory_id for r in recall] == [effect.memory_id, cause.memory_id]

    async def test_an_update_is_found_and_its_history_kept(self, memory: MemoryManager) -> None:
        stored = await memory.add_memory("The office is in Lisbon", kind="note")
        changed = await memory.update_memory(
            stored.memory_id, content="The office is in Porto", actor="reviewer"
        )
        assert changed.version == 2
        assert (await memory.retrieve_memories("office in Porto"))[0].memory.content.endswith(
            "Porto"
        )
        last = (await memory.get_history(stored.memory_id))[-1]
        assert last.operation == "update"
        assert last.actor == "reviewer"
        assert last.before["content"] == "The office is in Lisbon"

    async def test_an_update_of_an_outdated_version_is_refused(self, memory: MemoryManager) -> None:
        stored = await memory.add_memory("draft")
        await memory.update_memory(stored.memory_id, tags=("a",), expected_version=1)
        with pytest.raises(VersionConflict, match="version 2"):
            await memory.update_memory(stored.memory_id, tags=("b",), expected_version=1)

    async def test_a_forgotten_memory_is_gone_everywhere(self, memory: MemoryManager) -> None:
        stored = await memory.add_memory("The secret word is xylophone")
        await memory.retrieve_memories("xylophone")
        await memory.forget_memory(stored.memory_id)
        with pytest.raises(NotFound):
            await memory.get_memory(stored.memory_id)
        assert len(await memory.retrieve_memories("xylophone")) == 0
        with pytest.raises(NotFound):
            await memory.forget_memory(stored.memory_id)

    async def test_another_agent_sees_nothing(self, engine: Engine, memory: MemoryManager) -> None:
        mine = await memory.add_memory("The vault code is 1337", idempotency_key="k")
        other = engine.agent("stranger")
        assert len(await other.retrieve_memories("vault code 1337")) == 0
        assert await other.list_memories() == []
        assert await other.get_history(mine.memory_id) == []
        with pytest.raises(NotFound):
            await other.get_memory(mine.memory_id)
        with pytest.raises(NotFound):
            await other.update_memory(mine.memory_id, content="stolen")
        with pytest.raises(NotFound):
            await other.forget_memory(mine.memory_id)
        assert not (await other.add_memory("my own", idempotency_key="k")).duplicate
        found = await other.list_memories({"agent_id": "planner"})
        assert found == []

    async def test_listing_filters_orders_and_limits(self, memory: MemoryManager) -> None:
        for day in range(5):
            await memory.add_memory(
                f"day {day}", kind="note", timestamp=MONDAY + timedelta(days=day),
                importance=day / 10,
            )  # fmt: skip
        newest = await memory.list_memories(limit=2)
        assert [m.content for m in newest] == ["day 4", "day 3"]
        oldest = await memory.list_memories({"importance": {"$gte": 0.2}}, order_by="-timestamp")
        assert [m.content for m in oldest] == ["day 2", "day 3", "day 4"]

    async def test_unknown_filters_name_the_known_ones(self, memory: MemoryManager) -> None:
        with pytest.raises(UnknownField, match="importance"):
            await memory.list_memories({"importence": 1})
        with pytest.raises(UnknownOperator, match=r"\$gte"):
            await memory.retrieve_memories("x", where={"importance": {"$ge": 1}})

    async def test_bad_input_is_explained_and_stores_nothing(self, memory: MemoryManager) -> None:
        with pytest.raises(InvalidInput, match="time zone"):
            await memory.add_memory("x", timestamp=datetime(2026, 1, 1))  # noqa: DTZ001
        with pytest.raises(ContentTooLarge, match="content channel"):
            await memory.add_memory("x" * 10_000_000)
        with pytest.raises(DimensionMismatch, match="3 dimensions"):
            await memory.add_memory("x", embedding=(1.0, 0.0, 0.0))
        with pytest.raises(InvalidInput, match="not a field"):
            await memory.add_memory("x", colour="red")
        with pytest.raises(InvalidInput, match="query is empty"):
            await memory.retrieve_memories("  ")
        with pytest.raises(InvalidInput, match="not a memory id"):
            await memory.get_memory("42")
        assert await memory.count_memories() == 0

    async def test_statistics_count_by_type_and_tier(self, memory: MemoryManager) -> None:
        await memory.add_memory("We decided to use Postgres.", project_id="shop")
        await memory.add_memory("the build is running", kind="message")
        statistics = await memory.get_statistics()
        assert statistics.memories == 2
        assert statistics.by_tier == {"global": 1, "project": 1}
        assert statistics.by_type == {"episodic": 1, "semantic": 1}

    async def test_recalls_are_counted_in_the_background(
        self, engine: Engine, memory: MemoryManager
    ) -> None:
        stored = await memory.add_memory("the kettle is in the kitchen")
        await memory.retrieve_memories("kettle")
        await memory.retrieve_memories("kettle", track_access=False)
        await engine.tracker.flush()
        found = await memory.get_memory(stored.memory_id)
        assert found.access_count == 1
        assert found.last_accessed is not None


async def _write_notes(memory: MemoryManager) -> None:
    await memory.add_memories(
        [
            NewMemory(content="Martina approves the budget for cloud costs", timestamp=MONDAY),
            NewMemory(content="The printer on floor two is broken again", timestamp=MONDAY),
            NewMemory(content="Lunch is at noon in the canteen", timestamp=MONDAY),
            NewMemory(content="Release notes are written by Jonas", timestamp=MONDAY),
        ]
    )


class TestOnFile(MemorySuite, OnFile): ...


class TestInMemory(MemorySuite, InMemory): ...


class TestOnPythonsOwnSqlite(MemorySuite, OnFile):
    """Where no wheel of pysqlite3 exists, the SQLite of the standard library has to do."""

    @pytest.fixture(autouse=True)
    def no_bundled_sqlite(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pysqlite3", None)
        monkeypatch.setitem(sys.modules, "pysqlite3.dbapi2", None)


class TestOnPostgres(MemorySuite, OnPostgres): ...


class TestSearchedInPostgres(MemorySuite, OnPostgres):
    """Every agent counts as large, so that pgvector and the term index nominate candidates."""

    @pytest.fixture(autouse=True)
    def all_agents_are_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("waypost.retrieve.postgres.IN_PROCESS_ROWS", 0)
