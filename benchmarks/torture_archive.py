"""Kill a process in the middle of archiving and restoring, and count what is lost.

    python -m benchmarks.torture_archive --kills 200

Every run dies somewhere else: while reading, putting, verifying, deleting, or between them.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

import waypost
from tests.killing import children, run_child

MEMORIES = 40


@dataclass
class Damage:
    """What a run of the torture found."""

    kills: int = 0
    runs: int = 0
    calls: int = 0
    findings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        found = "\n".join(self.findings) or "nothing deleted unarchived, all restored byte-equal"
        return f"{self.kills} kills in {self.runs} runs of {self.calls:,} calls: {found}"


def torture(folder: Path, *, kills: int, seed: int = 1) -> Damage:
    """Kill ``kills`` children one after the other, each at another point of its work.

    A child that has less to do than the first one did may end before its point is reached;
    it does not count.
    """
    context = children(__name__)
    chance = random.Random(seed)
    path = folder / "memory.db"
    before = asyncio.run(_fill(path))
    calls = run_child(context, _archive_and_restore, str(path), None)
    assert calls is not None
    damage = Damage(calls=calls)
    while damage.kills < kills:
        damage.runs += 1
        deadly = chance.randrange(calls)
        damage.kills += run_child(context, _archive_and_restore, str(path), deadly) is None
        damage.findings += asyncio.run(_look(path, set(before)))
    after = asyncio.run(_restore(path))
    damage.findings += [f"{one} came back changed" for one in before if before[one] != after[one]]
    return damage


async def _fill(path: Path) -> dict[str, str]:
    async with waypost.open(path) as engine:
        memory = engine.agent("planner")
        batch = [{"content": f"Fact {n}: the valve {n} is open"} for n in range(MEMORIES)]
        await memory.add_memories(batch)
        return await _everything(memory)


async def _restore(path: Path) -> dict[str, str]:
    async with waypost.open(path) as engine:
        memory = engine.agent("planner")
        await memory.restore()
        return await _everything(memory)


async def _everything(memory: waypost.MemoryManager) -> dict[str, str]:
    records = await memory.list_memories(limit=10_000)
    return {record.memory_id: record.model_dump_json() for record in records}


async def _archive_and_restore(path: str, armed: threading.Event) -> None:
    async with waypost.open(path) as engine:
        armed.set()
        memory = engine.agent("planner")
        await memory.prune(share=0.5)
        await memory.restore(where={"content": {"$contains": "1"}})
        await memory.prune(share=0.2, strategy="oldest_first")


async def _look(path: Path, ids: set[str]) -> list[str]:
    """Every memory has to be in the database or, verified by its checksum, in the archive."""
    async with waypost.open(path) as engine:
        memory = engine.agent("planner")
        present = {record.memory_id for record in await memory.list_memories(limit=10_000)}
        archived = {record.memory_id for record in await memory.archive.find()}
    lost = [f"{one} is lost" for one in sorted(ids - present - archived)]
    return lost + [f"{one} is in both places" for one in sorted(present & archived)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        damage = torture(Path(folder), kills=options.kills, seed=options.seed)
    print(damage)
    sys.exit(1 if damage.findings else 0)


if __name__ == "__main__":
    main()
