"""Erasure on every database: nothing of what is erased is left anywhere, and nothing else goes."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

import waypost
from tests.engines import OnFile, OnPostgres
from waypost import Engine, LinkKind, MemoryLink, MemoryManager
from waypost.content.conversation import Prompt
from waypost.exceptions import InvalidInput
from waypost.store.tables import AGENT_TABLES, metadata

CANARY = "canary-7f3d-zebra"
SENTENCE = f"The password of the vault is {CANARY} until Friday."


async def fill_with_canaries(memory: MemoryManager) -> None:
    """The same secret as rows, edits, promotions, summaries, errors, content, runs, archive."""
    await memory.start_task("Open the vault", task_id="t", project_id="bank")
    stored = await memory.add_memory(SENTENCE, source="leak", task_id="t", idempotency_key="k")
    await memory.update_memory(stored.memory_id, content=f"{SENTENCE} It changed.")
    await memory.promote(stored.memory_id)
    await memory.add_interaction(f"My code name is {CANARY}.", "Noted.", source="leak", task_id="t")
    await memory.add_memory("We decided to paint door 12 blue.", source="good", task_id="t")
    await memory.complete_stage("t")
    await memory.retrieve_memories(CANARY)
    await cite_content(memory)
    await show_to_a_model(memory, "quoting", SENTENCE)
    await show_to_a_model(memory, "innocent", "The weather is fine today.")
    await archive_some(memory)


async def cite_content(memory: MemoryManager) -> None:
    page = await memory.content("fetching").store(f"<p>{SENTENCE}</p>", source="leak")
    link = MemoryLink(kind=LinkKind.CITES, target_id=page.content_id)
    await memory.add_memory(f"The page gave {CANARY}", source="browser", links=[link])
    await show_to_a_model(memory, "fetching", f"<p>{SENTENCE}</p>")


async def show_to_a_model(memory: MemoryManager, run_id: str, text: str) -> None:
    recorder = memory.recorder(run_id)
    await recorder.start()
    messages = [{"role": "user", "content": text}]
    await recorder.record_prompt(Prompt(step=1, messages=messages, system="", tokens=9))


async def archive_some(memory: MemoryManager) -> None:
    batch = [{"content": f"Reading number {n} was fine", "source": "good"} for n in range(3)]
    batch += [{"content": f"{CANARY} number {n}", "source": "leak"} for n in range(3)]
    ids = [one.memory_id for one in await memory.add_memories(batch)]
    await memory.prune(where={"memory_id": {"$in": ids}}, share=1.0)


def canaries_in_rows(connection: Connection) -> list[str]:
    """Every row that holds the canary, looking into compressed chunks too."""
    found = []
    for name in AGENT_TABLES:
        for row in connection.execute(select(metadata.tables[name])).mappings():
            text = str(dict(row))
            if name == "content_blobs":
                text = zlib.decompress(row["data"]).decode(errors="replace")
            if CANARY in text:
                found.append(f"{name}: {text[:200]}")
    return found


def files_like(folder: Path, pattern: str) -> list[Path]:
    return [path for path in folder.rglob(pattern) if path.is_file()]


def canaries_in_files(folder: Path) -> list[Path]:
    found = []
    for path in files_like(folder, "*"):
        data = path.read_bytes()
        plain = gzip.decompress(data) if path.suffix == ".gz" else data
        found += [path] if CANARY.encode() in plain else []
    return found


class ErasureSuite:
    @pytest.fixture
    async def engine(self, url: str, tmp_path: Path) -> AsyncIterator[Engine]:
        async with waypost.open(url, archive_url=str(tmp_path / "archive")) as engine:
            yield engine

    async def test_erasing_an_agent_leaves_nothing_of_it_and_all_of_the_others(
        self, engine: Engine, memory: MemoryManager, tmp_path: Path
    ) -> None:
        other = engine.agent("other")
        await other.add_memory("The other agent stays")
        await fill_with_canaries(memory)
        report = await memory.erase()
        assert report.rows["memories"] > 0
        assert report.archive_objects_deleted == 2
        assert await memory.count_memories() == await memory.archive.count() == 0
        assert len(await memory.retrieve_memories(CANARY)) == 0
        assert await other.count_memories() == 1
        await self.assert_no_canary(engine, tmp_path)

    async def test_erasing_a_source_reaches_everything_derived_from_it(
        self, engine: Engine, memory: MemoryManager, tmp_path: Path
    ) -> None:
        await fill_with_canaries(memory)
        report = await memory.erase(source="leak")
        assert (report.archive_objects_rewritten, report.archive_objects_deleted) == (1, 0)
        assert (report.runs_erased, report.rows["content_items"]) == (2, 1)
        assert report.summaries_rewritten > 0
        assert await memory.count_memories({"source": "browser"}) == 0
        assert {record.source for record in await memory.archive.find()} == {"good"}
        assert (await memory.restore()).restored_count == 3
        assert len(await memory.retrieve_memories("Reading", k=20)) > 0
        await self.assert_no_canary(engine, tmp_path)

    async def test_erasing_a_source_keeps_what_came_from_others(
        self, memory: MemoryManager
    ) -> None:
        await fill_with_canaries(memory)
        await memory.erase(source="leak")
        assert "paint door 12 blue" in (await memory.get_task_progress("t")).task_progress_summary
        assert (await memory.runs.messages_at("innocent"))[0]["content"].startswith("The weather")
        erased = await memory.runs.events("quoting")
        assert [(event.kind, event.payload) for event in erased] == [("erased", {"events": 1})]

    async def test_a_dry_run_reports_the_same_and_touches_nothing(
        self, memory: MemoryManager
    ) -> None:
        await fill_with_canaries(memory)
        before = await memory.count_memories()
        for source in ("leak", None):
            planned = await memory.erase(source=source, dry_run=True)
            assert planned.dry_run
            assert await memory.count_memories() == before
        planned = await memory.erase(source="leak", dry_run=True)
        done = await memory.erase(source="leak")
        same = ("memory_ids", "rows", "runs_erased", "summaries_rewritten", "facts_reopened",
                "archive_objects_rewritten")  # fmt: skip
        assert {name: getattr(planned, name) for name in same} == {
            name: getattr(done, name) for name in same
        }

    async def test_facts_that_only_erased_memories_had_replaced_hold_again(
        self, memory: MemoryManager
    ) -> None:
        texts = {"good": "8443", "leak": "9999", "better": "7443"}
        stored = {
            source: await memory.add_memory(
                f"The staging port is {port}.", kind="fact", type="semantic", source=source
            )
            for source, port in texts.items()
        }
        await memory.erase(source="leak")
        first = await memory.get_memory(stored["good"].memory_id)
        assert first.superseded_by == stored["better"].memory_id
        report = await memory.erase(source="better")
        assert report.facts_reopened == 1
        assert (await memory.get_memory(first.memory_id)).active

    async def test_progress_runs_to_the_end(self, memory: MemoryManager) -> None:
        await fill_with_canaries(memory)
        seen: list[tuple[int, int]] = []
        await memory.erase(source="leak", progress=lambda done, total: seen.append((done, total)))
        await memory.erase(progress=lambda done, total: seen.append((done, total)))
        assert [done for done, total in seen if done == total] == [5, 6]

    async def test_an_empty_source_is_refused(self, memory: MemoryManager) -> None:
        with pytest.raises(InvalidInput, match="source is empty"):
            await memory.erase(source=" ")

    async def assert_no_canary(self, engine: Engine, tmp_path: Path) -> None:
        assert await engine.database.read(canaries_in_rows) == []
        await engine.close()
        assert canaries_in_files(tmp_path) == []


class TestErasureOnFile(ErasureSuite, OnFile):
    async def test_the_file_is_clean_while_the_engine_is_still_open(
        self, memory: MemoryManager, tmp_path: Path
    ) -> None:
        await fill_with_canaries(memory)
        assert (await memory.erase(source="leak")).storage_compacted
        assert canaries_in_files(tmp_path) == []

    @pytest.mark.torture  # it waits for the reader as long as SQLite is told to: half a minute
    async def test_a_reader_of_the_file_is_reported(
        self, engine: Engine, memory: MemoryManager
    ) -> None:
        await memory.add_memory(SENTENCE, source="leak")
        with engine.database.backend.reading.begin() as reader:
            reader.exec_driver_sql("SELECT count(*) FROM memories").scalar()
            report = await memory.erase(source="leak")
        assert not report.storage_compacted
        assert (await memory.erase(source="leak")).storage_compacted

    async def test_another_engine_on_the_file_forgets_as_well(
        self, url: str, memory: MemoryManager
    ) -> None:
        await memory.add_memory(SENTENCE, source="leak")
        async with waypost.open(url) as engine:
            other = engine.agent("planner")
            assert len(await other.retrieve_memories(CANARY)) == 1
            await memory.erase()
            assert len(await other.retrieve_memories(CANARY)) == 0
            await other.add_memory("A new beginning")
            assert len(await other.retrieve_memories("beginning")) == 1

    async def test_the_saved_index_goes_too(self, url: str, tmp_path: Path) -> None:
        batch = [{"content": f"{CANARY} {n}", "source": "leak"} for n in range(5000)]
        async with waypost.open(url) as engine:
            await engine.agent("planner").add_memories(batch)
            await engine.agent("planner").retrieve_memories(CANARY)
        assert len(files_like(tmp_path, "*.index")) == 1
        async with waypost.open(url) as engine:
            await engine.agent("planner").erase(source="leak")
        assert files_like(tmp_path, "*.index") == []
        assert canaries_in_files(tmp_path) == []

    async def test_what_an_interrupted_pass_left_in_the_archive_goes_too(
        self, memory: MemoryManager, tmp_path: Path
    ) -> None:
        await archive_some(memory)
        bundle = files_like(tmp_path / "archive", "*.jsonl.gz")[0]
        bundle.with_name("orphan.jsonl.gz").write_bytes(bundle.read_bytes())
        bundle.with_name(".torn.jsonl.gz.77.tmp").write_bytes(bundle.read_bytes())
        await memory.erase(source="leak")
        assert canaries_in_files(tmp_path) == []
        assert files_like(tmp_path, "*.tmp") == []
        assert (await memory.restore()).restored_count == 3


class TestErasureOnPostgres(ErasureSuite, OnPostgres):
    async def test_the_report_does_not_speak_for_the_files_of_a_server(
        self, memory: MemoryManager
    ) -> None:
        await memory.add_memory(SENTENCE, source="leak")
        assert not (await memory.erase(source="leak")).storage_compacted


async def test_working_memory_in_redis_is_cleared(tmp_path: Path, redis_url: str) -> None:
    import redis

    async with waypost.open(tmp_path / "memory.db", redis_url=redis_url) as engine:
        memory = engine.agent("planner")
        await memory.add_memory(SENTENCE, source="leak", task_id="t")
        with redis.Redis.from_url(redis_url) as client:
            assert client.keys("memory:working:*")
            report = await memory.erase(source="leak")
            assert report.working_memory_cleared
            assert client.keys("*") == []


async def test_an_archive_in_an_s3_bucket_is_rewritten_and_emptied(
    tmp_path: Path, s3_url: str
) -> None:
    async with waypost.open(tmp_path / "memory.db", archive_url=f"{s3_url}/cold") as engine:
        memory = engine.agent("planner")
        await archive_some(memory)
        report: Any = await memory.erase(source="leak")
        assert (report.archive_objects_rewritten, len(report.memory_ids)) == (1, 3)
        assert {record.source for record in await memory.archive.find()} == {"good"}
        assert (await memory.erase()).archive_objects_deleted == 2
