"""Killing a process in the middle of archiving and restoring, at a random point of its work.

Every run dies somewhere else: while reading, putting, verifying, deleting, or between them.
"""

from __future__ import annotations

import asyncio
import random
import threading
from pathlib import Path

import waypost
from tests.killing import children, run_child

MEMORIES = 40


def kill_repeatedly(folder: Path, kills: int, seed: int) -> int:
    """Kill ``kills`` children one after the other; the number of memories ever lost is asserted."""
    context = children("tests.archive_kills")
    chance = random.Random(seed)
    path = folder / "memory.db"
    ids = asyncio.run(_fill(path))
    calls = run_child(context, _archive_and_restore, str(path), None)
    assert calls is not None
    died = 0
    for _ in range(kills):
        deadly = chance.randrange(calls)
        died += run_child(context, _archive_and_restore, str(path), deadly) is None
        asyncio.run(_check(path, ids))
    return died


async def _fill(path: Path) -> frozenset[str]:
    async with waypost.open(path) as engine:
        batch = [{"content": f"Fact {n}: the valve {n} is open"} for n in range(MEMORIES)]
        stored = await engine.agent("planner").add_memories(batch)
    return frozenset(one.memory_id for one in stored)


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
