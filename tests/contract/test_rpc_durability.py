"""Acknowledged means durable: the server is killed under eight writers, and nothing is missing.

Three times in every run; a hundred times with ``make torture``.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import waypost
from waypost.client import Client
from waypost.exceptions import WaypostError
from waypost.service.auth import make_token

SECRET = "a secret for tests, of 32 bytes or more"
WRITERS = 8
START_SECONDS = 120


@asynccontextmanager
async def server(path: str, *options: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """``waypost serve`` in a process of its own, and its address."""
    command = [sys.executable, "-c", "from waypost.cli import main; main()", "serve"]
    process = await asyncio.create_subprocess_exec(
        *command, "--url", path, "--port", "0", *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=os.environ | {"WAYPOST_TOKEN_SECRET": SECRET},
    )  # fmt: skip
    try:
        yield process, await _address(process)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(START_SECONDS):
        while line := (await process.stdout.readline()).decode():
            if line.startswith("listening on "):
                return line.removeprefix("listening on ").strip()
    raise AssertionError("the server ended before it listened")


async def write_until_it_breaks(
    client: Client, writer: int, acknowledged: list[str], enough: asyncio.Event, goal: int
) -> None:
    memory = client.agent()
    number = 0
    while True:
        number += 1
        try:
            stored = await memory.add_memory(f"Writer {writer} wrote note {number}.")
        except WaypostError:
            return
        acknowledged.append(stored.memory_id)
        if len(acknowledged) >= goal:
            enough.set()


async def kill_under_load(path: str, chance: random.Random) -> list[str]:
    """Start a server, write from all sides, kill it in mid-flight; what had been acknowledged."""
    acknowledged: list[str] = []
    enough = asyncio.Event()
    goal = chance.randrange(1, 60)
    token = make_token(SECRET.encode(), "planner")
    async with server(path) as (process, address), Client(address, token=token) as waiting:
        await waiting.agent().count_memories()
        clients = [Client(address, token=token, attempts=1) for _ in range(WRITERS)]
        writers = [
            asyncio.create_task(write_until_it_breaks(each, n, acknowledged, enough, goal))
            for n, each in enumerate(clients)
        ]
        await enough.wait()
        process.send_signal(signal.SIGKILL)
        await asyncio.gather(*writers)
        for each in clients:
            await each.close()
    return acknowledged


async def check_rounds(path: Path, seeds: range) -> None:
    acknowledged: list[str] = []
    for seed in seeds:
        acknowledged += await kill_under_load(str(path), random.Random(seed))
        async with waypost.open(path) as engine:
            memory = engine.agent("planner")
            found = {record.memory_id for record in await memory.list_memories(limit=100_000)}
        missing = set(acknowledged) - found
        assert not missing, f"{len(missing)} acknowledged writes are lost (seed {seed})"


async def test_a_killed_server_has_lost_nothing_it_acknowledged(tmp_path: Path) -> None:
    await check_rounds(tmp_path / "memory.db", range(3))


@pytest.mark.torture
async def test_a_server_killed_a_hundred_times_has_lost_nothing(tmp_path: Path) -> None:
    await check_rounds(tmp_path / "memory.db", range(100, 200))


async def test_a_stopped_server_finishes_what_it_began(tmp_path: Path) -> None:
    """A polite end: every write is either acknowledged and kept, or not acknowledged."""
    path = tmp_path / "memory.db"
    token = make_token(SECRET.encode(), "planner")
    acknowledged: list[str] = []
    enough = asyncio.Event()
    async with server(str(path)) as (process, address):
        clients = [Client(address, token=token, attempts=1) for _ in range(WRITERS)]
        writers = [
            asyncio.create_task(write_until_it_breaks(each, n, acknowledged, enough, 20))
            for n, each in enumerate(clients)
        ]
        await enough.wait()
        process.send_signal(signal.SIGTERM)
        await asyncio.gather(*writers)
        assert await process.wait() in (0, -signal.SIGTERM)
        for each in clients:
            await each.close()
    async with waypost.open(path) as engine:
        records = await engine.agent("planner").list_memories(limit=100_000)
    assert set(acknowledged) <= {record.memory_id for record in records}


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
async def test_several_workers_share_one_memory(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = str(tmp_path / "memory.db")
    if store == "postgresql":
        url = request.getfixturevalue("postgres_url")
    token = make_token(SECRET.encode(), "planner")
    async with server(url, "--workers", "2") as (parent, address):
        clients = [Client(address, token=token) for _ in range(6)]
        stored = await asyncio.gather(
            *(
                client.agent().add_memory(f"Crate {n}-{m} holds lamps.")
                for n, client in enumerate(clients)
                for m in range(5)
            )
        )
        for client in clients:
            found = {record.memory_id for record in await client.agent().list_memories()}
            assert found == {each.memory_id for each in stored}
            recall = await client.agent().retrieve_memories("which crate holds lamps", k=30)
            assert len(recall) == 30
            await client.close()
        parent.kill()
        async with asyncio.timeout(60):
            await parent.wait()  # its pipes close when the workers have ended too
