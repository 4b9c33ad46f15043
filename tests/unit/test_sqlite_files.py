"""Opening files that cannot be a memory: a clear error, and the file as it was."""
# ruff: noqa: ASYNC240 - these tests are about files, and nothing else runs on their loop

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import waypost
from tests.leaks import nothing_left_behind
from waypost.exceptions import (
    SchemaTooNew,
    StorageCorrupt,
    StorageError,
    StorageReadOnly,
    StorageUnavailable,
)

NOBODY = 65534


async def refused(path: Path, kind: type[StorageError], words: str) -> None:
    """Opening fails as told, leaves no thread or file open, and changes no byte."""
    before = path.read_bytes() if path.is_file() else None
    with nothing_left_behind(), pytest.raises(kind, match=words):
        await waypost.open(path)
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.fixture
async def memory_file(tmp_path: Path) -> Path:
    return await filled(tmp_path / "memory.db")


async def filled(path: Path) -> Path:
    async with waypost.open(path) as engine:
        notes = [{"content": f"note {number} " + "word " * 50} for number in range(200)]
        await engine.agent("planner").add_memories(notes)
    return path


@contextmanager
def as_nobody(*paths: Path) -> Iterator[None]:
    """Run as a user without rights, since root may write anywhere."""
    if os.geteuid() != 0:
        yield
        return
    for path in paths:
        os.chown(path, NOBODY, -1)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that other users may enter; pytest keeps its own closed to them."""
    with TemporaryDirectory(prefix="waypost-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


async def test_a_folder(tmp_path: Path) -> None:
    await refused(tmp_path, StorageUnavailable, r"is a folder; name a file such as .*memory\.db")


async def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    await refused(tmp_path / "no" / "memory.db", StorageUnavailable, "does not exist; create it")


async def test_a_text_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary,\n" * 100)
    await refused(path, StorageCorrupt, "not a Waypost database")


async def test_a_short_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"SQLite")
    await refused(path, StorageCorrupt, "not a Waypost database")


@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
async def test_the_database_of_another_program(tmp_path: Path, journal_mode: str) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal_mode}")
        connection.execute("CREATE TABLE invoices (id INTEGER PRIMARY KEY, total REAL)")
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('3f2a')")
        connection.commit()
    await refused(path, StorageCorrupt, "other tables .*invoices")
    assert [entry.name for entry in tmp_path.iterdir()] == ["other.db"]


async def test_a_newer_schema(memory_file: Path) -> None:
    with closing(sqlite3.connect(memory_file)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    await refused(memory_file, SchemaTooNew, "schema 9999, newer than .* upgrade Waypost")


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
async def test_a_file_that_was_cut_off(memory_file: Path, kept: float) -> None:
    size = memory_file.stat().st_size
    os.truncate(memory_file, int(size * kept))
    await refused(memory_file, StorageCorrupt, "damaged .* restore it from a backup")


async def test_a_file_whose_first_page_was_overwritten(memory_file: Path) -> None:
    with memory_file.open("r+b") as file:
        file.seek(100)
        file.write(b"\xde\xad\xbe\xef" * 900)
    await refused(memory_file, StorageCorrupt, "is damaged or not a Waypost database")


async def test_damage_further_inside_is_reported_when_it_is_met(memory_file: Path) -> None:
    with memory_file.open("r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xde\xad\xbe\xef" * (memory_file.stat().st_size // 4 - 4 * 4096))
    with nothing_left_behind():
        try:
            engine = await waypost.open(memory_file)
        except StorageCorrupt:
            return
        async with engine:
            memory = engine.agent("planner")
            with pytest.raises(StorageCorrupt, match="damaged"):
                await memory.list_memories()
            recall = await memory.retrieve_memories("note 7")
            assert recall.degraded
            assert "damaged" in recall.reasons[0]


async def test_an_empty_file_becomes_a_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.touch()
    async with waypost.open(path) as engine:
        await engine.agent("planner").add_memory("hello")
    assert path.stat().st_size > 0


async def test_a_copy_in_another_journal_mode_is_still_ours(memory_file: Path) -> None:
    copy = memory_file.with_name("copy.db")
    with closing(sqlite3.connect(memory_file)) as connection:
        connection.execute("VACUUM INTO ?", [str(copy)])
    async with waypost.open(copy) as engine:
        assert await engine.agent("planner").count_memories() == 200


async def test_a_read_only_file(reachable: Path) -> None:
    path = await filled(reachable / "memory.db")
    path.chmod(0o444)
    with as_nobody(path, reachable):
        await refused(path, StorageReadOnly, "check the permissions of the file")


async def test_a_read_only_folder(reachable: Path) -> None:
    path = await filled(reachable / "memory.db")
    reachable.chmod(0o555)
    with as_nobody(path, reachable):
        await refused(path, StorageError, "check (that its folder|the permissions)")
        await refused(reachable / "new.db", StorageUnavailable, "folder exists and can be written")


async def test_a_folder_that_may_not_be_entered(reachable: Path) -> None:
    path = await filled(reachable / "memory.db")
    reachable.chmod(0o000)
    refusal = pytest.raises(StorageUnavailable, match="cannot be read: Permission denied")
    with as_nobody(reachable), nothing_left_behind(), refusal:
        await waypost.open(path)


async def test_a_file_that_may_not_be_read(reachable: Path) -> None:
    path = await filled(reachable / "memory.db")
    path.chmod(0o000)
    refusal = pytest.raises(StorageUnavailable, match="may not be read; check")
    with as_nobody(reachable, path), nothing_left_behind(), refusal:
        await waypost.open(path)


async def test_opening_and_closing_leaves_nothing_behind(memory_file: Path) -> None:
    with nothing_left_behind():
        async with waypost.open(memory_file) as engine:
            memory = engine.agent("planner")
            await memory.add_memory("one more")
            await memory.retrieve_memories("note")
    assert {entry.name for entry in memory_file.parent.iterdir()} <= {
        memory_file.name,
        memory_file.name + ".index",
    }


async def test_integrity_is_kept_after_all_kinds_of_work(memory_file: Path) -> None:
    async with waypost.open(memory_file) as engine:
        memory = engine.agent("planner")
        for record in await memory.list_memories(limit=20):
            await memory.update_memory(record.memory_id, content=record.content + " changed")
        for record in await memory.list_memories(limit=10):
            await memory.forget_memory(record.memory_id)
    with closing(sqlite3.connect(memory_file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.parametrize(
    ("question", "index"),
    [
        ("SELECT * FROM memories WHERE agent_id = 'a' AND row_id IN (1, 2)", "INTEGER PRIMARY KEY"),
        ("SELECT * FROM links WHERE agent_id = 'a' AND source_id IN ('x', 'y')", "(source_id=?)"),
        ("SELECT * FROM memories WHERE agent_id = 'a'", "(agent_id=?)"),
        ("SELECT * FROM memories WHERE agent_id = 'a' AND run_id = 'r'", "run_id=?)"),
    ],
)
async def test_queries_take_the_shortest_way_from_the_first_row_on(
    memory_file: Path, question: str, index: str
) -> None:
    with closing(sqlite3.connect(memory_file)) as connection:
        steps = connection.execute(f"EXPLAIN QUERY PLAN {question}").fetchall()
    assert index in steps[0][-1]
