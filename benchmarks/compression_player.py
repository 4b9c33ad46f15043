"""Playing runs into a memory and measuring the summaries above them, for ``compression``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import waypost
from benchmarks import compression_checks as checks
from benchmarks.agent_runs import Run, Step
from benchmarks.compression_checks import Share
from waypost import MemoryManager
from waypost.stages.compress import compress, from_memories
from waypost.stages.compressor import LOCAL
from waypost.stages.manager import own_words

_STAGES = ("planning", "execution", "reflection", "execution", "verification")
_STEPS_PER_STAGE = 12
_SHORT = range(5, 40)


@dataclass(frozen=True)
class Measured:
    """One summary and everything that is known about it."""

    kind: str
    ratio: float
    retention: float
    pinned_kept: float
    unsupported: int
    tokens: int
    seconds: float
    tool_share: float = 0.0
    stages: int = 1
    values: Share = field(default_factory=Share)


@dataclass
class Later:
    """Values that a second half needed: in the summary, and in plain truncation."""

    summary: Share = field(default_factory=Share)
    newest: Share = field(default_factory=Share)


class Player:
    """Plays runs into a memory and measures the summaries above them."""

    def __init__(self, memory: MemoryManager) -> None:
        self.memory = memory
        self.stages: list[Measured] = []
        self.tasks: list[Measured] = []
        self.later = Later()
        self.repeats_differ = 0

    async def play(self, run: Run, *, stage_only: bool = False) -> None:
        if not run.steps:
            return
        await self._whole(run)
        if not stage_only:
            await self._in_stages(run)
            await self._halved(run)

    async def _whole(self, run: Run) -> None:
        task_id = await self._store(run.steps, f"{run.kind} {run.name}", run.goal)
        stage_id = await self._open_stage(task_id)
        started = time.perf_counter()
        stage = await self.memory.stages.complete_stage(stage_id)
        seconds = time.perf_counter() - started
        (metric,) = await self.memory.tasks.metrics(task_id)
        self.stages.append(
            Measured(
                kind=run.kind,
                ratio=stage.compression_ratio,
                retention=stage.information_retention,
                pinned_kept=metric.pinned_kept,
                unsupported=metric.unsupported,
                tokens=stage.original_tokens,
                seconds=seconds,
                tool_share=run.tool_share,
                values=checks.values_kept(run.steps, stage.stage_summary),
            )
        )
        if stage.compression_model == LOCAL:
            memories = await self.memory.stages.get_stage_memories(stage_id)
            again = compress(from_memories(own_words(memories)))
            self.repeats_differ += again.text != stage.stage_summary

    async def _in_stages(self, run: Run) -> None:
        """The same run as a task of several stages, when it is long enough to have them."""
        count = min(len(_STAGES), len(run.steps) // _STEPS_PER_STAGE)
        if count < 2:
            return
        task_id = f"{run.kind} {run.name} in stages"
        await self.memory.start_task(run.goal, task_id=task_id)
        size = -(-len(run.steps) // count)
        for number in range(count):
            await self.memory.start_stage(task_id, _STAGES[number])
            part = run.steps[number * size : (number + 1) * size]
            await self.memory.add_memories(_memories(part, task_id, pin=number == 0))
            await self.memory.complete_stage(task_id)
        started = time.perf_counter()
        await self.memory.complete_task(task_id)
        seconds = time.perf_counter() - started
        last = [m for m in await self.memory.tasks.metrics(task_id) if m.level == "task"][-1]
        self.tasks.append(
            Measured(
                kind=run.kind,
                ratio=last.compression_ratio,
                retention=last.information_retention_score,
                pinned_kept=last.pinned_kept,
                unsupported=last.unsupported,
                tokens=last.original_tokens,
                seconds=seconds,
                tool_share=run.tool_share,
                stages=count,
            )
        )

    async def _halved(self, run: Run) -> None:
        first, needed = checks.used_later(run.steps)
        if not needed:
            return
        task_id = await self._store(first, f"{run.kind} {run.name} first half", run.goal)
        stage = await self.memory.stages.complete_stage(await self._open_stage(task_id))
        kept = checks.needed_later(needed, stage.stage_summary)
        self.later.summary.add(kept.kept, kept.total)
        plain = checks.newest_text(first, stage.compressed_tokens)
        kept = checks.needed_later(needed, plain)
        self.later.newest.add(kept.kept, kept.total)

    async def _store(self, steps: Sequence[Step], task_id: str, goal: str) -> str:
        await self.memory.start_task(goal, task_id=task_id)
        await self.memory.add_memories(_memories(steps, task_id))
        return task_id

    async def _open_stage(self, task_id: str) -> str:
        stage = await self.memory.stages.current_stage(task_id)
        if stage is None:
            raise RuntimeError(f"task {task_id!r} has no open stage")
        return stage.stage_id


def _memories(steps: Sequence[Step], task_id: str, *, pin: bool = True) -> list[waypost.NewMemory]:
    """The steps as memories of a task, one short statement among them marked critical."""
    pinned = next((step for step in steps if pin and _is_short_statement(step)), None)
    return [step.memory(task_id=task_id, is_critical=step is pinned) for step in steps]


def _is_short_statement(step: Step) -> bool:
    return step.role != "tool" and not step.actions and len(step.text.split()) in _SHORT
