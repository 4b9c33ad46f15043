"""Several processes on one file, and processes that die in the middle of a write."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import waypost
from benchmarks.torture_store import Writer, batch, expected, look, torture


async def test_two_processes_write_while_a_third_reads_and_nothing_is_lost(tmp_path: Path) -> None:
    url, steps = str(tmp_path / "shared.db"), 100
    async with waypost.open(url) as engine:
        writers = [Writer(url, name, steps) for name in ("left", "right")]
        for step in writers[0]:
            if step % 20 == 0:
                await see_at_once(engine, "left", step)
        assert [writer.end() for writer in writers] == [0, 0]
        for name in ("left", "right"):
            records = await engine.agent(name).list_memories(limit=1000)
            assert {record.content for record in records} == expected(name, steps)
    assert await look(url, {"left": steps, "right": steps}) == []


async def see_at_once(engine: waypost.Engine, writer: str, step: int) -> None:
    """What another process was told is stored is found here, in the rows and by search."""
    memory = engine.agent(writer)
    wanted = batch(writer, step)[0]
    assert await memory.count_memories({"content": wanted}) == 1
    recall = await memory.retrieve_memories(wanted, k=50, track_access=False)
    assert wanted in {recalled.memory.content for recalled in recall}
    assert not recall.degraded


async def test_another_engine_of_this_process_does_not_give_up_our_locks(tmp_path: Path) -> None:
    """POSIX drops all locks of a process on a file when it closes that file anywhere."""
    url = str(tmp_path / "shared.db")
    async with waypost.open(url) as engine:
        memory = engine.agent("here")
        await memory.add_memory("before", kind="message")
        async with waypost.open(url):
            pass
        assert await asyncio.to_thread(Writer(url, "there", 1).end) == 0
        await memory.add_memory("after", kind="message")
        assert await asyncio.to_thread(Writer(url, "there too", 1).end) == 0
        async with waypost.open(url) as another:
            assert await another.agent("here").count_memories() == 2
            assert await another.agent("there").count_memories() == 3


def test_killed_writers_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    damage = torture(tmp_path, kills=6)
    assert damage.findings == []
    assert damage.kills == 6
    assert damage.acknowledged > 0


@pytest.mark.torture
def test_two_hundred_killed_writers_lose_nothing(tmp_path: Path) -> None:
    damage = torture(tmp_path, kills=200, seed=2)
    assert damage.findings == []
    assert damage.kills == 200
