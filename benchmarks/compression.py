"""How short summaries get, what they keep, what they cost.

    python -m benchmarks.compression [--data FOLDER] [--json] [--every N]
        [--raw-spans] [--local-model | --chat-url URL --chat-model NAME]

Every run is stored step by step as memories of a task through the public API; one short statement
of each is marked critical. The whole run is one stage for the stage figures, and is cut into
stages of at least twelve steps for the task figures, whose ratio is from the stages' summaries to
the task's. In the last line, *traces* are the tool-heavy runs of TRAIL, tau-bench and SWE-agent
(at least two thirds of their tokens are tool output), *dialogue* is LoCoMo and LongMemEval by
sessions, *task* the tasks of three stages or more; the tables before it have all runs and every
kind by itself.

"values kept" and "needed later" come from ``compression_checks``, which shares nothing with the
compressor. Without a model URL the chat-model rows use a stand-in behind a real HTTP server that
loses every second entry and makes things up, so they show what is put back and left out; its
tokens are counted exactly and priced from the table in ``waypost.chat.prices``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import waypost
from benchmarks import compression_checks as checks
from benchmarks import large_stage
from benchmarks.agent_runs import DATA, Run, Step, load
from benchmarks.compression_checks import Share
from benchmarks.labelled_tasks import LabelledTask, labelled_tasks
from benchmarks.local_model import local_model
from waypost import MemoryManager
from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.stages.compress import compress, from_memories
from waypost.stages.compressor import LOCAL
from waypost.stages.manager import own_words
from waypost.testing import ScriptedModelServer

TRACES = ("trail", "tau_bench", "swe_agent")
DIALOGUES = ("locomo", "longmemeval")
TOOL_HEAVY = 2 / 3
STAGES_OF_A_TASK = 3
MOST_SESSIONS = 200
LARGE = 10_000
MODEL_RUNS = 24
REAL_MODEL_RUNS = 4
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


async def play(
    runs: Iterable[Run],
    *,
    chat: OpenAICompatibleChat | None = None,
    stage_only: bool = False,
) -> tuple[Player, dict[str, float]]:
    """Play runs into a fresh memory; what compression cost comes along."""
    async with waypost.open(":memory:", chat=chat) as engine:
        player = Player(engine.agent("bench"))
        for run in runs:
            await player.play(run, stage_only=stage_only)
        return player, await player.memory.tasks.costs()


def figures(measured: Sequence[Measured]) -> dict[str, float]:
    return {
        "median_ratio": round(median([one.ratio for one in measured]), 2) if measured else 0.0,
        "median_retention": round(median([one.retention for one in measured]), 4)
        if measured
        else 0.0,
        "pinned_kept": round(min((one.pinned_kept for one in measured), default=1.0), 4),
        "unsupported": sum(one.unsupported for one in measured),
    }


def row(name: str, measured: Sequence[Measured]) -> str:
    if not measured:
        return f"| {name} | 0 | | | | | | | |"
    shares = Share()
    for one in measured:
        shares.add(one.values.kept, one.values.total)
    found = figures(measured)
    least = min(one.retention for one in measured)
    per_second = sum(one.tokens for one in measured) / max(sum(o.seconds for o in measured), 1e-9)
    values = f"{shares.value:.3f}" if shares.total else ""
    return (
        f"| {name} | {len(measured)} | {sum(one.tokens for one in measured):,} | "
        f"{found['median_ratio']:.1f} | {found['median_retention']:.3f} | {least:.3f} | "
        f"{found['pinned_kept']:.0%} | {found['unsupported']:.0f} | {values} | {per_second:,.0f} |"
    )


HEADER = (
    "| input | runs | tokens | median ratio | median retention | lowest | pinned kept "
    "| unsupported | values kept | tokens/s |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def report(player: Player, dialogue: Player, extra: Sequence[tuple[str, list[Measured]]]) -> None:
    traces = player.stages
    print(HEADER)
    for kind in TRACES:
        print(row(f"{kind}, all runs", [one for one in traces if one.kind == kind]))
        print(row(f"{kind}, tool-heavy", [o for o in heavy(traces) if o.kind == kind]))
    print(row("traces, all", traces))
    print(row("traces, at least half tool output", [o for o in traces if o.tool_share >= 0.5]))
    print(row("traces, tool-heavy", heavy(traces)))
    for name, measured in extra:
        print(row(name, measured))
    for kind in DIALOGUES:
        print(row(kind, [one for one in dialogue.stages if one.kind == kind]))
    print(row("task from two stages", [one for one in player.tasks if one.stages == 2]))
    print(row("task from three stages or more", long_tasks(player.tasks)))
    later = player.later
    print(
        f"\nneeded later: {later.summary.total} values that the second half of a run puts into its "
        f"commands; {later.summary.value:.1%} stand in the summary of the first half, "
        f"{later.newest.value:.1%} in its newest text of the same length"
    )
    print(f"same input, other bytes: {player.repeats_differ + dialogue.repeats_differ}\n")


def heavy(measured: Iterable[Measured]) -> list[Measured]:
    return [one for one in measured if one.tool_share >= TOOL_HEAVY]


def long_tasks(measured: Iterable[Measured]) -> list[Measured]:
    return [one for one in measured if one.stages >= STAGES_OF_A_TASK]


async def labelled() -> None:
    """Our own tasks: every labelled phrase, looked up letter by letter."""
    async with waypost.open(":memory:") as engine:
        memory = engine.agent("labelled")
        for task in labelled_tasks():
            await _store_labelled(memory, task)
            done = await memory.complete_task(task.name)
            (stage,) = await memory.stages.list_stages(task.name)
            lost = [p for p in task.must_keep if p.lower() not in stage.stage_summary.lower()]
            kept = len(task.must_keep) - len(lost)
            pinned = all(text in done.task_progress_summary for text in task.pinned)
            print(
                f"labelled {task.name}: {stage.compression_ratio:.1f}:1, {kept} of "
                f"{len(task.must_keep)} labelled phrases, pinned {'kept' if pinned else 'LOST'}"
                + (f", lost: {', '.join(lost)}" if lost else "")
            )
    print()


async def _store_labelled(memory: MemoryManager, task: LabelledTask) -> None:
    await memory.start_task(task.goal, task_id=task.name)
    await memory.add_memories(
        [
            step.memory(task_id=task.name, is_critical=step.text in task.pinned)
            for step in task.steps
        ]
    )


_ENTRY = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
INVENTED = "The board approved a bonus of 777 dollars for everybody involved."


def lossy_model(body: Mapping[str, Any]) -> str:
    """A stand-in that loses every second entry, keeps twenty words of the rest, and invents."""
    entries = _ENTRY.findall(str(body["messages"][-1]["content"]))
    lines = [
        {"text": " ".join(text.split()[:20]), "sources": [int(number)]}
        for number, text in entries[::2]
    ]
    made_up = {"text": INVENTED, "sources": [0]}
    return json.dumps({"lines": [*lines, made_up], "insights": [INVENTED]})


@contextmanager
def endpoint(arguments: argparse.Namespace) -> Iterator[tuple[str, OpenAICompatibleChat]]:
    """The chat model to compress with, and what to call it."""
    if arguments.chat_url:
        name = arguments.chat_model
        yield name, OpenAICompatibleChat(name, base_url=arguments.chat_url, timeout=300.0)
    elif arguments.local_model:
        with local_model() as (name, url):
            yield name, OpenAICompatibleChat(name, base_url=url, timeout=600.0)
    else:
        with ScriptedModelServer(chat=lossy_model, usage=False) as server:
            chat = OpenAICompatibleChat("gpt-4o-mini", base_url=server.base_url)
            yield "lossy stand-in", chat
        named = set(server.models_named())
        if named != {"gpt-4o-mini"}:
            raise RuntimeError(f"a compression named another model: {sorted(named)}")


def with_model(runs: Sequence[Run], arguments: argparse.Namespace) -> float:
    """The rows with a chat model; returns the share of the reasoning model's price saved."""
    real = bool(arguments.chat_url or arguments.local_model)
    most = REAL_MODEL_RUNS if real else MODEL_RUNS
    chosen = (sorted(runs, key=lambda run: run.tokens) if real else runs)[
        :: max(1, len(runs) // most // (2 if real else 1))
    ][:most]
    with endpoint(arguments) as (name, chat):
        player, spent = asyncio.run(play(chosen, chat=chat, stage_only=real))
    print(HEADER)
    print(row(f"traces with {name}", player.stages))
    print(row(f"task with {name}", player.tasks))
    saving = 1 - spent["cost_usd"] / spent["reasoning_cost_usd"]
    print(
        f"\n{spent['compressions']:.0f} compressions: {spent['cost_usd']:.5f} USD, the same tokens "
        f"on the reasoning model {spent['reasoning_cost_usd']:.5f} USD, {saving:.1%} less\n"
    )
    return saving


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the data sets")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    parser.add_argument("--every", type=int, default=1, help="only every n-th run")
    parser.add_argument("--raw-spans", action="store_true", help="also whole TRAIL spans")
    parser.add_argument("--local-model", action="store_true", help="with a real small model")
    parser.add_argument("--chat-url", help="an OpenAI-compatible base URL to compress with")
    parser.add_argument("--chat-model", default="gpt-4o-mini", help="the model at that URL")
    arguments = parser.parse_args()
    runs = [run for kind in TRACES for run in load(arguments.data, kind)][:: arguments.every]
    talks = [talk for kind in DIALOGUES for talk in sessions(arguments.data, kind)]
    if not runs and not talks:
        parser.error(f"no runs found below {arguments.data}; give the folder with --data")
    result = measure(runs, talks[:: arguments.every], arguments)
    if arguments.json:
        print(json.dumps(result))


def measure(
    runs: Sequence[Run], talks: Sequence[Run], arguments: argparse.Namespace
) -> dict[str, Any]:
    asyncio.run(labelled())
    print(asyncio.run(large_stage.measure(LARGE)), end="\n\n")
    player, _ = asyncio.run(play(runs))
    dialogue, _ = asyncio.run(play(talks))
    extra = [
        (kind, asyncio.run(play(list(load(arguments.data, kind))[:: arguments.every]))[0].stages)
        for kind in ("who_and_when", *(["raw_spans"] if arguments.raw_spans else []))
    ]
    report(player, dialogue, extra)
    return {
        "traces": figures(heavy(player.stages)),
        "dialogue": figures(dialogue.stages),
        "task": figures(long_tasks(player.tasks)),
        "cost_saving": round(with_model(runs, arguments), 4),
    }


def sessions(folder: Path, kind: str) -> list[Run]:
    """Conversations by sessions; of a very large set, a part spread over it."""
    found = list(load(folder, kind))
    step = max(1, len(found) // MOST_SESSIONS)
    return list(islice(found[::step], MOST_SESSIONS))


if __name__ == "__main__":
    main()
