"""What is left after writers were killed in mid-flight: everything they had acknowledged.

Run by ``make torture``; ``ROUNDS`` in the environment sets how often.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import waypost

ROUNDS = int(os.environ.get("ROUNDS", "30"))
pytestmark = pytest.mark.torture

WRITER = """
import asyncio, sys
import waypost

async def main(url, name):
    async with waypost.open(url) as engine:
        memory = engine.agent("tortured")
        number = 0
        while True:
            number += 1
            stored = await memory.add_memory(f"Writer {name} put box {number} on the shelf.")
            print(stored.memory_id, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def start_writer(url: str, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, url, name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def acknowledged_before_kill(writer: subprocess.Popen[str], amount: int) -> list[str]:
    """Read so many receipts, kill the writer without warning, and take what it still said."""
    assert writer.stdout is not None
    seen = [writer.stdout.readline().strip() for _ in range(amount)]
    writer.send_signal(signal.SIGKILL)
    rest, errors = writer.communicate()
    assert all(seen), errors
    complete = rest.splitlines() if rest.endswith("\n") else rest.splitlines()[:-1]
    return [*seen, *complete]


async def stored_ids(url: str) -> set[str]:
    async with waypost.open(url) as engine:
        memory = engine.agent("tortured")
        total = await memory.count_memories()
        records = await memory.list_memories(limit=max(total, 1))
        return {record.memory_id for record in records}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "tortured.db")
    return str(request.getfixturevalue("postgres_url"))


async def test_nothing_acknowledged_is_lost_when_a_writer_is_killed(url: str) -> None:
    chance = random.Random(20260306)
    acknowledged: set[str] = set()
    for round_number in range(ROUNDS):
        writer = start_writer(url, str(round_number))
        acknowledged.update(acknowledged_before_kill(writer, chance.randint(1, 40)))
    assert acknowledged <= await stored_ids(url)


async def test_two_writers_share_one_memory_and_one_of_them_is_killed(url: str) -> None:
    async with waypost.open(url):
        pass  # the schema is there before they race
    chance = random.Random(7)
    acknowledged: set[str] = set()
    for round_number in range(max(ROUNDS // 3, 1)):
        pair = [start_writer(url, f"{round_number}-{side}") for side in ("a", "b")]
        for writer in pair:
            acknowledged.update(acknowledged_before_kill(writer, chance.randint(1, 40)))
    assert acknowledged <= await stored_ids(url)


async def test_what_survives_is_found(tmp_path: Path) -> None:
    url = str(tmp_path / "tortured.db")
    acknowledged_before_kill(start_writer(url, "only"), 20)
    async with waypost.open(url) as engine:
        recall = await engine.agent("tortured").retrieve_memories("box 7 on the shelf", k=1)
        assert "box 7 " in recall[0].memory.content
