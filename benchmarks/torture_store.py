"""Kill writers with SIGKILL in the middle of their work and count what is lost.

    python -m benchmarks.torture_store --kills 200

Each round starts two processes that write to one file, kills both after a random number
of acknowledged steps and looks at the file: it must be sound, hold everything that was
acknowledged, and of the step that was under way either all or nothing. What a step does
follows from its number alone, so the expected state can be computed.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import waypost

if TYPE_CHECKING:
    from multiprocessing.connection import Connection as PipeEnd

    from sqlalchemy import Connection

    from waypost import Engine, MemoryManager

BATCH = 3
FORGOTTEN_ITEM = 1
PROCESSES = multiprocessing.get_context("forkserver")
"""Writers are forked from a process that has loaded what they need and done nothing else."""
PROCESSES.set_forkserver_preload(["waypost.engine", "waypost.retrieve.embedded", __name__])


def expected(writer: str, steps: int) -> set[str]:
    """The texts that a writer's agent holds after this many steps.

    Steps go round in fours: two add a batch, one changes the newest memory's text, one
    forgets a memory of the newest batch.
    """
    texts: set[str] = set()
    for step in range(steps):
        if step % 4 in (0, 1):
            texts |= set(batch(writer, step))
        elif step % 4 == 2:
            texts -= {batch(writer, step - 1)[-1]}
            texts |= {changed(writer, step)}
        else:
            texts -= {batch(writer, step - 2)[FORGOTTEN_ITEM]}
    return texts


def batch(writer: str, step: int) -> list[str]:
    return [f"{writer} step {step} item {item}" for item in range(BATCH)]


def changed(writer: str, step: int) -> str:
    return f"{writer} changed in step {step}"


async def write(url: str, writer: str, steps: int, acknowledge: Callable[[int], None]) -> None:
    """Do steps and acknowledge each when it is done."""
    async with waypost.open(url) as engine:
        memory = engine.agent(writer)
        newest: list[str] = []
        for step in range(steps):
            newest = await _do(memory, writer, step, newest)
            acknowledge(step)


async def _do(memory: MemoryManager, writer: str, step: int, newest: list[str]) -> list[str]:
    if step % 4 in (0, 1):
        new = [{"content": text, "kind": "message"} for text in batch(writer, step)]
        return [stored.memory_id for stored in await memory.add_memories(new)]
    if step % 4 == 2:
        await memory.update_memory(newest[-1], content=changed(writer, step))
    else:
        await memory.forget_memory(newest[FORGOTTEN_ITEM])
    return newest


class Writer:
    """A writer in a process of its own."""

    def __init__(self, url: str, name: str, steps: int = 1_000_000) -> None:
        self._acknowledged, sender = PROCESSES.Pipe(duplex=False)
        self.name = name
        self.process = PROCESSES.Process(target=_work, args=(url, name, steps, sender), daemon=True)
        self.process.start()
        sender.close()

    def __iter__(self) -> Iterator[int]:
        """The steps as they are acknowledged, until the process ends."""
        while True:
            try:
                yield self._acknowledged.recv()
            except EOFError:
                return

    def kill(self, after: int) -> int:
        """Kill the process after some acknowledged steps; how many there were in the end."""
        count = sum(1 for _ in islice(self, after))
        self.process.kill()
        return count + sum(1 for _ in self)

    def end(self) -> int | None:
        """Wait for the process; its exit code."""
        self.process.join()
        self._acknowledged.close()
        return self.process.exitcode


def _work(url: str, name: str, steps: int, sender: PipeEnd[int, int]) -> None:
    asyncio.run(write(url, name, steps, sender.send))


@dataclass
class Damage:
    """What a run of the torture found."""

    kills: int = 0
    acknowledged: int = 0
    findings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        found = "\n".join(self.findings) or "nothing lost, nothing half-written"
        return f"{self.kills} kills, {self.acknowledged:,} acknowledged steps: {found}"


def torture(folder: Path, *, kills: int, seed: int = 1) -> Damage:
    """Kill ``kills`` writers, two at a time, on one file in ``folder``."""
    url = str(folder / "tortured.db")
    chance = random.Random(seed)
    damage = Damage()
    while damage.kills < kills:
        writers = [Writer(url, f"round {damage.kills} writer {name}") for name in "ab"]
        acknowledged = {each.name: each.kill(after=chance.randrange(1, 40)) for each in writers}
        for each in writers:
            each.end()
        damage.kills += len(writers)
        damage.acknowledged += sum(acknowledged.values())
        damage.findings += asyncio.run(look(url, acknowledged))
    return damage


async def look(url: str, acknowledged: dict[str, int]) -> list[str]:
    """Open the file as the next process would; what is wrong with it."""
    async with waypost.open(url) as engine:
        findings = await engine.database.read(unsound)
        for writer, steps in acknowledged.items():
            findings += await _missing(engine, writer, steps)
    return findings


async def _missing(engine: Engine, writer: str, steps: int) -> list[str]:
    records = await engine.agent(writer).list_memories(limit=10_000)
    found = {record.content for record in records}
    wanted, next_wanted = expected(writer, steps), expected(writer, steps + 1)
    if found in (wanted, next_wanted):
        return []
    return [f"{writer} after {steps} steps: {sorted(found ^ wanted)}"]


def unsound(connection: Connection) -> list[str]:
    """What SQLite and our own rules say against the file."""
    rules = {
        "PRAGMA foreign_key_check": "rows refer to nothing",
        "SELECT memory_id FROM memories WHERE row_id NOT IN (SELECT row_id FROM embeddings) "
        "AND row_id NOT IN (SELECT row_id FROM jobs)": "memories without vector or job",
        "SELECT memory_id FROM memories WHERE row_id NOT IN (SELECT row_id FROM history)": (
            "memories without history"
        ),
    }
    findings = [
        f"{meaning}: {len(rows)}"
        for statement, meaning in rules.items()
        if (rows := connection.exec_driver_sql(statement).all())
    ]
    sound = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
    return findings if sound == "ok" else [*findings, f"integrity check: {sound}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        damage = torture(Path(folder), kills=options.kills, seed=options.seed)
    print(damage)
    sys.exit(1 if damage.findings else 0)


if __name__ == "__main__":
    main()
