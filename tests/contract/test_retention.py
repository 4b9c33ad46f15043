"""Bounded memory on every database: prune, archive, restore, erase."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import waypost
from tests.engines import OnFile, OnPostgres
from waypost import Engine, MemoryManager
from waypost.exceptions import InvalidInput, NotFound, StorageCorrupt, StorageError
from waypost.model import LinkKind, MemoryLink
from waypost.model.retention import Capacity, RetentionPolicy, Strategy
from waypost.model.vocabulary import MemoryType, Tier
from waypost.retention.archive import Archive
from waypost.retention.objects import FolderStore

START = datetime(2026, 1, 1, tzinfo=UTC)


def notes(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [
        {
            "content": f"Observation {number}: the reading was {number * 7}",
            "kind": "note",
            "importance": 0.5,
            "timestamp": START + timedelta(hours=number),
        }
        | fields
        for number in range(count)
    ]


async def everything(memory: MemoryManager) -> dict[str, str]:
    found = await memory.list_memories(limit=10_000)
    return {record.memory_id: record.model_dump_json() for record in found}


def files_of(folder: Path, pattern: str = "*") -> list[Path]:
    return [path for path in folder.rglob(pattern) if path.is_file()]


class RetentionSuite:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return tmp_path / "archive"

    @pytest.fixture
    async def engine(self, url: str, folder: Path) -> AsyncIterator[Engine]:
        async with waypost.open(url, archive_url=str(folder)) as engine:
            yield engine

    async def test_a_pass_archives_the_least_missed_fifth(self, memory: MemoryManager) -> None:
        stored = await memory.add_memories(notes(20))
        report = await memory.prune(strategy="oldest_first")
        assert report.pruned_count == 4
        assert set(report.memory_ids) == {one.memory_id for one in stored[:4]}
        assert await memory.count_memories() == 16
        assert await memory.archive.count() == 4

    async def test_a_dry_run_says_what_would_go_and_changes_nothing(
        self, memory: MemoryManager, folder: Path
    ) -> None:
        await memory.add_memories(notes(10))
        planned = await memory.prune(strategy="oldest_first", dry_run=True)
        assert (planned.pruned_count, planned.dry_run) == (2, True)
        assert await memory.count_memories() == 10
        assert not files_of(folder)
        assert (await memory.prune(strategy="oldest_first")).memory_ids == planned.memory_ids

    async def test_critical_memories_stay(self, memory: MemoryManager) -> None:
        await memory.add_memories(notes(9, is_critical=True))
        await memory.add_memory("The only ordinary one")
        report = await memory.prune(share=1.0)
        assert report.pruned_count == 1
        assert await memory.count_memories({"is_critical": True}) == 9

    async def test_a_layer_a_tier_or_a_filter_limits_what_may_go(
        self, memory: MemoryManager
    ) -> None:
        await memory.add_memories(notes(5, type="episodic", task_id="t"))
        await memory.add_memories(notes(5, type="semantic", project_id="p"))
        assert (await memory.prune("episodic", share=1.0)).pruned_count == 5
        assert (await memory.prune(tier="task", share=1.0)).pruned_count == 0
        report = await memory.prune(
            where={"timestamp": {"$gt": START + timedelta(hours=2)}}, share=1.0
        )
        assert report.pruned_count == 2

    async def test_a_limit_repeats_passes_until_it_holds(self, memory: MemoryManager) -> None:
        await memory.add_memories(notes(100))
        report = await memory.prune(max_items=50)
        assert report.passes == 4
        assert await memory.count_memories() == 100 - report.pruned_count <= 50

    async def test_an_unknown_layer_or_strategy_is_refused(self, memory: MemoryManager) -> None:
        with pytest.raises(InvalidInput, match="working, episodic, semantic, procedural"):
            await memory.prune("sensory")
        with pytest.raises(InvalidInput, match="least_relevant"):
            await memory.prune(strategy="random")
        with pytest.raises(InvalidInput, match="share"):
            await memory.prune(share=0)
        with pytest.raises(InvalidInput, match="max_items"):
            await memory.prune(max_items=0)

    async def test_a_thousand_memories_come_back_byte_equal(
        self, engine: Engine, memory: MemoryManager
    ) -> None:
        await memory.add_memories(notes(1000, tags=("ü", "x"), metadata={"deep": {"n": [1, None]}}))
        await memory.retrieve_memories("reading 70")
        await engine.tracker.flush()
        before = await everything(memory)
        report = await memory.prune(share=1.0)
        assert report.pruned_count == 1000
        assert await memory.count_memories() == 0
        restored = await memory.restore()
        assert restored.restored_count == 1000
        assert await everything(memory) == before
        assert await memory.archive.count() == 0

    async def test_what_is_archived_is_not_recalled_until_it_is_restored(
        self, memory: MemoryManager
    ) -> None:
        stored = await memory.add_memory("The vault code is on the yellow card", kind="note")
        await memory.add_memory("Lunch is at noon", kind="note")
        await memory.prune(where={"memory_id": stored.memory_id}, share=1.0)
        found = await memory.retrieve_memories("vault code yellow card")
        assert stored.memory_id not in {one.memory_id for one in found}
        assert (await memory.archive.get(stored.memory_id)).content == stored.memory.content
        await memory.restore(stored.memory_id)
        assert (await memory.retrieve_memories("vault code yellow card"))[0].memory == stored.memory

    async def test_links_from_and_to_a_memory_come_back_with_it(
        self, memory: MemoryManager
    ) -> None:
        first = await memory.add_memory("The cause")
        link = MemoryLink(kind=LinkKind.RELATED, target_id=first.memory_id)
        second = await memory.add_memory("The effect", links=[link])
        before = await everything(memory)
        for memory_id in (first.memory_id, second.memory_id):
            await memory.prune(where={"memory_id": memory_id}, share=1.0)
            await memory.restore(memory_id)
            assert await everything(memory) == before

    async def test_some_are_restored_by_filter_and_the_rest_stays(
        self, memory: MemoryManager
    ) -> None:
        await memory.add_memories(notes(10))
        await memory.prune(share=1.0)
        restored = await memory.restore(where={"content": {"$contains": "Observation 3"}})
        assert restored.restored_count == 1
        assert (await memory.list_memories())[0].content.startswith("Observation 3")
        assert await memory.archive.count() == 9
        assert (await memory.restore()).restored_count == 9

    async def test_what_is_not_in_the_archive_cannot_be_restored(
        self, engine: Engine, memory: MemoryManager
    ) -> None:
        stored = await memory.add_memory("Mine alone")
        await memory.prune(share=1.0)
        stranger = engine.agent("stranger")
        with pytest.raises(NotFound):
            await stranger.restore(stored.memory_id)
        with pytest.raises(NotFound):
            await stranger.archive.get(stored.memory_id)
        for refused in (memory.restore("nonsense"), memory.archive.get("nonsense")):
            with pytest.raises(InvalidInput, match="not a memory id"):
                await refused
        assert (await stranger.restore()).restored_count == 0
        assert await memory.archive.count() == 1

    async def test_a_memory_that_changed_after_it_was_archived_stays(
        self, engine: Engine, memory: MemoryManager, folder: Path
    ) -> None:
        stored = await memory.add_memory("First wording", kind="note")

        class ChangesMeanwhile(FolderStore):
            def put(self, key: str, data: bytes) -> None:
                super().put(key, data)
                with engine.database.backend.writing.begin() as connection:
                    connection.exec_driver_sql("UPDATE memories SET summary = 'changed'")

        archive = Archive(engine.database, ChangesMeanwhile(folder), "planner", clock=engine.clock)
        if engine.database.dialect == "sqlite":
            assert await archive.take([stored.memory_id], reason="test") == []
            assert (await memory.get_memory(stored.memory_id)).summary == "changed"

    async def test_an_archive_that_gives_back_other_bytes_costs_nothing(
        self, engine: Engine, memory: MemoryManager, folder: Path
    ) -> None:
        class Forgetful(FolderStore):
            def get(self, key: str) -> bytes:
                return super().get(key)[:-1]

        stored = await memory.add_memory("Precious")
        archive = Archive(engine.database, Forgetful(folder), "planner", clock=engine.clock)
        with pytest.raises(StorageCorrupt, match="nothing was deleted"):
            await archive.take([stored.memory_id], reason="test")
        assert await memory.get_memory(stored.memory_id) == stored.memory

    async def test_a_damaged_bundle_is_noticed_and_nothing_is_restored(
        self, memory: MemoryManager, folder: Path
    ) -> None:
        await memory.add_memories(notes(5))
        await memory.prune(share=1.0)
        bundle = files_of(folder, "*.jsonl.gz")[0]
        text = gzip.decompress(bundle.read_bytes()).replace(b"Observation 2", b"Observation 9")
        bundle.write_bytes(gzip.compress(text))
        with pytest.raises(StorageCorrupt, match="checksum"):
            await memory.restore()
        assert await memory.count_memories() == 0
        bundle.write_bytes(b"not gzip")
        with pytest.raises(StorageCorrupt, match="damaged"):
            await memory.restore()

    async def test_an_archive_that_cannot_be_written_keeps_everything(
        self, url: str, tmp_path: Path
    ) -> None:
        blocked = tmp_path / "blocked"
        blocked.write_text("a file where the folder should be")
        async with waypost.open(url, archive_url=str(blocked)) as engine:
            memory = engine.agent("planner")
            await memory.add_memories(notes(5))
            with pytest.raises(StorageError):
                await memory.prune()
            assert await memory.count_memories() == 5

    async def test_a_configured_capacity_holds_after_every_write(
        self, url: str, folder: Path
    ) -> None:
        policy = RetentionPolicy(
            capacities=(
                Capacity(type=MemoryType.EPISODIC, max_items=10, strategy=Strategy.OLDEST_FIRST),
                Capacity(tier=Tier.TASK, max_tokens=60),
            )
        )
        async with waypost.open(url, archive_url=str(folder), retention=policy) as engine:
            memory = engine.agent("planner")
            for number in range(25):
                await memory.add_memory(f"Episode {number}", type="episodic")
                assert await memory.count_memories({"type": "episodic"}) <= 10
            await memory.add_memories(notes(10, task_id="t"))
            kept = await memory.list_memories({"tier": "task"})
            assert sum(record.token_count for record in kept) <= 60
            everything_ever = await memory.count_memories() + await memory.archive.count()
            assert everything_ever == 35


class TestRetentionOnFile(RetentionSuite, OnFile):
    async def test_the_archive_lies_beside_the_file_by_default(self, tmp_path: Path) -> None:
        async with waypost.open(tmp_path / "memory.db") as engine:
            memory = engine.agent("planner")
            await memory.add_memory("To be archived")
            await memory.prune(share=1.0)
        assert len(list((tmp_path / "memory.db.archive").rglob("*.jsonl.gz"))) == 1

    async def test_a_database_in_memory_has_its_archive_in_memory(self) -> None:
        async with waypost.open(":memory:") as engine:
            memory = engine.agent("planner")
            await memory.add_memory("To be archived")
            assert (await memory.prune(share=1.0)).archive == "the in-memory archive"
            assert (await memory.restore()).restored_count == 1


class TestRetentionOnPostgres(RetentionSuite, OnPostgres):
    async def test_without_an_archive_nothing_is_deleted(self, url: str) -> None:
        async with waypost.open(url) as engine:
            memory = engine.agent("planner")
            await memory.add_memory("Kept")
            with pytest.raises(StorageError, match="no archive is configured"):
                await memory.prune(share=1.0)
            assert await memory.count_memories() == 1


async def test_the_archive_may_lie_in_an_s3_bucket(tmp_path: Path, s3_url: str) -> None:
    async with waypost.open(tmp_path / "memory.db", archive_url=f"{s3_url}/cold") as engine:
        memory = engine.agent("planner")
        await memory.add_memories(notes(30, source="a"))
        await memory.add_memories(notes(5, source="b", task_id="t"))
        before = await everything(memory)
        assert (await memory.prune(share=1.0)).pruned_count == 35
        assert (await memory.archive.get(next(iter(before)))).model_dump_json() in before.values()
        report = await memory.erase(source="b")
        assert (report.archive_objects_rewritten, len(report.memory_ids)) == (1, 5)
        assert (await memory.restore()).restored_count == 30
        kept = {key: value for key, value in before.items() if key not in report.memory_ids}
        assert await everything(memory) == kept
        await memory.prune(share=1.0)
        assert (await memory.erase()).archive_objects_deleted == 2


async def test_an_archive_that_is_no_known_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="names no archive"):
        await waypost.open(tmp_path / "memory.db", archive_url="ftp://somewhere")
