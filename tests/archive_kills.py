"""Killing a process in the middle of archiving and restoring, at a random point of its work.

The child counts the function calls of all its threads and ends itself with SIGKILL at
the one it was told, so every run dies somewhere else: while reading, putting, verifying,
deleting, or between them.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import waypost

MEMORIES = 40


def kill_repeatedly(folder: Path, kills: int, seed: int) -> int:
    """Kill ``kills`` children one after the other; the number of memories ever lost is asserted."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["waypost.engine", "tests.archive_kills"])
    chance = random.Random(seed)
    path = folder / "memory.db"
    ids = asyncio.run(_fill(path))
    calls = _run_child(context, path, None)
    assert calls is not None
    died = 0
    for _ in range(kills):
        died += _run_child(context, path, chance.randrange(calls)) is None
        asyncio.run(_check(path, ids))
    return died


async def _fill(path: Path) -> frozenset[str]:
    async with waypost.open(path) as engine:
        batch = [{"content": f"Fact {n}: the valve {n} is open"} for n in range(MEMORIES)]
        stored = await engine.agent("planner").add_memories(batch)
    return frozenset(one.memory_id for one in stored)


def _run_child(context: Any, path: Path, deadly: int | None) -> int | None:
    """The number of calls a child made, None when it was killed before it ended."""
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(str(path), deadly, sender))
    child.start()
    sender.close()
    child.join()
    calls = receiver.recv() if child.exitcode == 0 else None
    receiver.close()
    return calls


def _child(path: str, deadly: int | None, sender: Connection) -> None:
    calls = 0
    armed = threading.Event()

    def count(*_: object) -> None:
        nonlocal calls
        if armed.is_set():
            calls += 1
            if calls == deadly:
                os.kill(os.getpid(), signal.SIGKILL)

    # Before the work opens: threads inherit the hook when they start.
    threading.setprofile(count)
    sys.setprofile(count)
    asyncio.run(_archive_and_restore(path, armed))
    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type]
    sender.send(calls)


async def _archive_and_restore(path: str, armed: threading.Event) -> None:
    async with waypost.open(path) as engine:
        armed.set()
        memory = engine.agent("planner")
        await memory.prune(share=0.5)
        await memory.restore(where={"content": {"$contains": "1"}})
        await memory.prune(share=0.2, strategy="oldest_first")


async def _check(path: Path, ids: frozenset[str]) -> None:
    """Every memory is in the database or, verified by its checksum, in the archive."""
    async with waypost.open(path) as engine:
        memory = engine.agent("planner")
        present = {record.memory_id for record in await memory.list_memories(limit=10_000)}
        archived = {record.memory_id for record in await memory.archive.find()}
    assert present | archived == ids
    assert not present & archived
