"""Killing a process in the middle of completing stages and a task, at a random point of its work.

After every kill the work is done again, and has to give, to the byte, what an uninterrupted run
gives: the same summaries, the same lines with the same sources, each compression recorded once.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import threading
from pathlib import Path
from typing import Any

import waypost
from tests.killing import children, run_child

LOG = "\n".join(f"2026-03-01 10:00:{i % 60:02} INFO copied chunk {i}" for i in range(60))
STEPS = (
    {"content": "We decided to use logical replication.", "task_id": "move"},
    {"content": "Never lock the table invoices.", "task_id": "move", "is_critical": True},
    {"content": LOG, "task_id": "move", "kind": "tool_output", "origin": "tool"},
    {"content": "The copy took 45 minutes on host-7.", "task_id": "move"},
)


def kill_repeatedly(folder: Path, kills: int, seed: int) -> int:
    """Kill ``kills`` children, each on a fresh copy; returns how many died in their work."""
    context = children("tests.stage_kills")
    chance = random.Random(seed)
    start, path = folder / "start.db", folder / "memory.db"
    asyncio.run(_fill(start))
    _copy(start, path)
    calls = run_child(context, _complete, str(path), None)
    assert calls is not None
    expected = asyncio.run(_finished(path))
    died = 0
    for _ in range(kills):
        _copy(start, path)
        died += run_child(context, _complete, str(path), chance.randrange(calls)) is None
        assert asyncio.run(_finished(path)) == expected
    return died


def _copy(start: Path, path: Path) -> None:
    for leftover in path.parent.glob(f"{path.name}*"):
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    shutil.copy(start, path)


async def _fill(path: Path) -> None:
    async with waypost.open(path) as engine:
        memory = engine.agent("planner")
        await memory.start_task("Move billing", task_id="move")
        await memory.start_stage("move", "planning")
        await memory.add_memories(STEPS)


async def _complete(path: str, armed: threading.Event) -> None:
    async with waypost.open(path) as engine:
        armed.set()
        memory = engine.agent("planner")
        await memory.complete_stage("move")
        await memory.complete_task("move", "moved")


async def _finished(path: Path) -> dict[str, Any]:
    """Do whatever is left to do; then everything that must not depend on the interruption."""
    async with waypost.open(path) as engine:
        memory = engine.agent("planner")
        task = await memory.complete_task("move", "moved")
        (stage,) = await memory.stages.list_stages("move")
        metrics = await memory.tasks.metrics("move")
    return {
        "summary": stage.stage_summary,
        "lines": stage.summary_lines,
        "refs": stage.raw_memory_refs,
        "task": task.task_progress_summary,
        "status": task.status,
        "metrics": sorted((metric.level, metric.compressed_tokens) for metric in metrics),
    }
