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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import waypost
from benchmarks import large_stage
from benchmarks.agent_runs import DATA, Run, load
from benchmarks.compression_checks import Share
from benchmarks.compression_player import Measured, Player
from benchmarks.labelled_tasks import LabelledTask, labelled_tasks
from benchmarks.local_model import local_model
from waypost import MemoryManager
from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.testing import ScriptedModelServer

TRACES = ("trail", "tau_bench", "swe_agent")
DIALOGUES = ("locomo", "longmemeval")
TOOL_HEAVY = 2 / 3
STAGES_OF_A_TASK = 3
MOST_SESSIONS = 200
MODEL_RUNS = 24
REAL_MODEL_RUNS = 3


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
    """The rows with a chat model; returns the share of the reasoning model's price saved.

    A real model gets the shortest runs: a small one on this machine is slow.
    """
    real = bool(arguments.chat_url or arguments.local_model)
    if real:
        chosen = sorted(runs, key=lambda run: run.tokens)[:REAL_MODEL_RUNS]
    else:
        chosen = runs[:: max(1, len(runs) // MODEL_RUNS)][:MODEL_RUNS]
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
    parser.add_argument("--large", type=int, default=10_000, help="memories of the large stage")
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
    print(asyncio.run(large_stage.measure(arguments.large)), end="\n\n")
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
