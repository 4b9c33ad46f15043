"""One stage of many memories: how long completing it takes, and how much memory.

    python -m benchmarks.large_stage [--n 10000]

The memories are made up: steps with their own numbers, twelve-line logs, JSON records, decisions,
errors. ``benchmarks.compression`` runs it too.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import time
from collections.abc import Iterator
from typing import Any

import waypost

_BATCH = 1000


def made_up(count: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(1)
    makers = (_step, _log, _record, _report, _answer)
    for number in range(count):
        yield {"task_id": "large", **makers[number % len(makers)](number, chance)}


def _step(number: int, chance: random.Random) -> dict[str, Any]:
    host, files = chance.randint(1, 400), chance.randint(1, 9000)
    return {"content": f"Step {number}: I looked at host-{host} and found {files} open files."}


def _log(_: int, chance: random.Random) -> dict[str, Any]:
    lines = (
        f"2026-03-01 10:00:{second:02} INFO request id=r{chance.randint(0, 99999)} "
        f"took {chance.randint(1, 900)} ms"
        for second in range(12)
    )
    return {"content": "\n".join(lines), "kind": "tool_output", "origin": "tool"}


def _record(_: int, chance: random.Random) -> dict[str, Any]:
    text = f'{{"host": "host-{chance.randint(1, 400)}", "load": {chance.random():.3f}}}'
    return {"content": text, "kind": "tool_output", "origin": "tool"}


def _report(number: int, chance: random.Random) -> dict[str, Any]:
    service, host = chance.randint(1, 60), chance.randint(1, 400)
    if number % 50 == 3:
        return {"content": f"We decided to restart service svc-{service} on host-{host}."}
    return {"content": f"Service svc-{service} is fine."}


def _answer(number: int, chance: random.Random) -> dict[str, Any]:
    text = "ok"
    if number % 40 == 4:
        text = f"ERROR Timeout{chance.randint(1, 4)}: no answer from host-{chance.randint(1, 400)}"
    return {"content": text, "kind": "tool_output", "origin": "tool"}


async def measure(count: int) -> str:
    """One sentence about completing a stage of ``count`` memories."""
    async with waypost.open(":memory:") as engine:
        memory = engine.agent("bench")
        await memory.start_task("A long watch", task_id="large")
        batch = list(made_up(count))
        for start in range(0, count, _BATCH):
            await memory.add_memories(batch[start : start + _BATCH])
        before, started = _peak_mb(), time.process_time()
        stage = await memory.stages.complete_stage(await _open_stage(memory))
        seconds, grown = time.process_time() - started, _peak_mb() - before
    return (
        f"a stage of {count:,} memories, {stage.original_tokens:,} tokens: {seconds:.1f} s of one "
        f"core, {grown:.0f} MB more at the peak, {stage.compression_ratio:.1f}:1, "
        f"retention {stage.information_retention:.3f}"
    )


async def _open_stage(memory: waypost.MemoryManager) -> str:
    stage = await memory.stages.current_stage("large")
    if stage is None:
        raise RuntimeError("the task has no open stage")
    return stage.stage_id


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=10_000, help="how many memories")
    print(asyncio.run(measure(parser.parse_args().n)))


if __name__ == "__main__":
    main()
