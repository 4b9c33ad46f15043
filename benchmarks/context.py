"""Whether the evidence is inside the context, and what that costs.

    python -m benchmarks.context [--dataset locomo|longmemeval|both] [--data FOLDER] [--json]

Every turn is stored as one memory, with the default embedder and no chat model. For each
question a context is built at 500, 1000, 2000 and 4000 tokens; the question counts when
every one of its evidence turns is in it in full. With both sets the figure is the mean of
the two. Adversarial questions of LoCoMo stay out.

Baselines get the same budget of plain text: the newest turns, the turns nearest by vector,
and, without any budget, the whole history. ``reduction`` is how much smaller a 2000-token
context is than that history; ``format_ms`` is the median time from what was retrieved to the
text of 2000 tokens. ``--history`` asks about histories of about 25,000 tokens instead, at 5000
tokens. Of a folder every file below ``locomo/`` and ``longmemeval/`` is read; a set that is
missing is left out. With ``--json`` the last line is one object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

import waypost
from benchmarks import datasets
from benchmarks.datasets import ADVERSARIAL, Question, Store, Turn
from waypost import embed
from waypost.encode.terms import indexed_text
from waypost.model import NewMemory
from waypost.model.context import ContextPackage, ContextRequest, Form
from waypost.model.vocabulary import Origin
from waypost.tokens import count_tokens

BUDGETS = (500, 1000, 2000, 4000)
HISTORY_BUDGET = 5000
HISTORY_TOKENS = 25_000
READERS = {"locomo": datasets.locomo, "longmemeval": datasets.longmemeval}
TIMED_BUDGET = 2000
BASELINES = ("newest_first", "plain_top_k", "full_history")
BATCH = 500

Shares = dict[str, dict[int, list[bool]]]


class Run:
    """One pass over one data set."""

    def __init__(self, budgets: Sequence[int]) -> None:
        self.budgets = budgets
        self.inside: Shares = defaultdict(lambda: defaultdict(list))
        self.over_budget = 0
        self.format_seconds: list[float] = []
        self.reductions: list[float] = []
        self.embedder = embed.local()

    async def play(self, engine: waypost.Engine, store: Store) -> None:
        memory = engine.agent(store.name)
        turn_ids = await remember(memory, store.turns)
        costs = {turn.turn_id: count_tokens(plain(turn)) for turn in store.turns}
        vectors = await self._vectors(store)
        for question in store.questions:
            if question.category == ADVERSARIAL:
                continue
            for budget in self.budgets:
                await self._ask(memory, question, budget, turn_ids, sum(costs.values()))
            await self._ask_baselines(store, question, costs, vectors)

    async def _ask(
        self,
        memory: waypost.MemoryManager,
        question: Question,
        budget: int,
        turn_ids: dict[str, str],
        history: int,
    ) -> None:
        request = ContextRequest(query=question.text, max_tokens=budget)
        collected = await memory.assembler.collect(None, request)
        started = time.perf_counter()
        package = memory.assembler.format(collected)
        if budget == TIMED_BUDGET:
            self.format_seconds.append(time.perf_counter() - started)
        shown = {
            turn_ids[item.entry_id]
            for item in package.items
            if item.form is Form.RAW and item.entry_id in turn_ids
        }
        self.inside["waypost"][budget].append(question.turns <= shown)
        self._measure(package, history)

    def _measure(self, package: ContextPackage, history: int) -> None:
        self.over_budget += count_tokens(package.text) > package.max_tokens
        if package.max_tokens == min(TIMED_BUDGET, max(self.budgets)) or len(self.budgets) == 1:
            self.reductions.append(1 - package.token_count / history)

    async def _vectors(self, store: Store) -> np.ndarray[Any, np.dtype[np.float32]]:
        texts = [indexed_text(turn.text, turn.speaker, turn.time) for turn in store.turns]
        return await self.embedder.embed_documents(texts)

    async def _ask_baselines(
        self, store: Store, question: Question, costs: dict[str, int], vectors: Any
    ) -> None:
        nearness = vectors @ await self.embedder.embed_query(question.text)
        nearest = [store.turns[n] for n in np.argsort(-nearness, kind="stable")]
        newest = sorted(store.turns, key=lambda turn: turn.time, reverse=True)
        for budget in self.budgets:
            for name, order in (("newest_first", newest), ("plain_top_k", nearest)):
                shown = first_that_fit(order, costs, budget)
                self.inside[name][budget].append(question.turns <= shown)
            self.inside["full_history"][budget].append(True)

    def curve(self, name: str) -> dict[str, float]:
        return {str(b): round(fmean(self.inside[name][b]), 4) for b in self.budgets}


async def remember(memory: waypost.MemoryManager, turns: Sequence[Turn]) -> dict[str, str]:
    """Store the turns; the answer maps memory ids to turn ids."""
    found: dict[str, str] = {}
    for start in range(0, len(turns), BATCH):
        part = turns[start : start + BATCH]
        receipts = await memory.add_memories([new_memory(turn) for turn in part])
        for receipt, turn in zip(receipts, part, strict=True):
            found.setdefault(receipt.memory_id, turn.turn_id)
    return found


def new_memory(turn: Turn) -> NewMemory:
    return NewMemory(
        content=turn.text,
        source=turn.speaker,
        run_id=turn.session_id,
        timestamp=turn.time,
        origin=Origin.USER if turn.by_user else Origin.AGENT,
    )


def plain(turn: Turn) -> str:
    return f"{turn.time:%Y-%m-%d} {turn.speaker}: {turn.text}\n"


def first_that_fit(order: Iterable[Turn], costs: dict[str, int], budget: int) -> set[str]:
    shown: set[str] = set()
    for turn in order:
        budget -= costs[turn.turn_id]
        if budget < 0:
            break
        shown.add(turn.turn_id)
    return shown


def shortened(store: Store, tokens: int) -> Store:
    """The evidence sessions and as many others, newest first, as make a history of that size."""
    evidence = {session for question in store.questions for session in question.sessions}
    costs: dict[str, int] = defaultdict(int)
    for turn in store.turns:
        costs[turn.session_id] += count_tokens(plain(turn))
    kept = {session for session in costs if session in evidence}
    size = sum(costs[session] for session in kept)
    for session in reversed(costs):
        if session not in kept and size + costs[session] <= tokens:
            kept.add(session)
            size += costs[session]
    return replace(store, turns=tuple(t for t in store.turns if t.session_id in kept))


def files_of(name: str, data: Path) -> list[Path]:
    """The files of one set: those in its folder, or the one file that was given."""
    return sorted((data / name).glob("*.json*")) if data.is_dir() else [data]


def stores_of(name: str, files: Sequence[Path], *, history: bool) -> Iterator[Store]:
    for path in files:
        for store in READERS[name](path):
            large = history and name == "longmemeval"
            yield shortened(store, HISTORY_TOKENS) if large else store


async def measure(stores: Iterable[Store], budgets: Sequence[int]) -> Run:
    run = Run(budgets)
    for store in stores:
        async with waypost.open(":memory:") as engine:
            await run.play(engine, store)
    return run


def report(runs: Sequence[Run]) -> dict[str, Any]:
    """The object that ``--json`` prints: means over the data sets."""
    seconds = [second for run in runs for second in run.format_seconds]
    return {
        "curve": mean_curve(runs, "waypost"),
        "baselines": {name: mean_curve(runs, name) for name in BASELINES},
        "over_budget": sum(run.over_budget for run in runs),
        "format_ms": round(1000 * median(seconds), 2) if seconds else None,
        "reduction": round(fmean(fmean(run.reductions) for run in runs), 4),
    }


def mean_curve(runs: Sequence[Run], name: str) -> dict[str, float]:
    curves = [run.curve(name) for run in runs]
    return {budget: round(fmean(curve[budget] for curve in curves), 4) for budget in curves[0]}


def describe(figures: dict[str, Any]) -> str:
    budgets = list(figures["curve"])
    lines = ["share of questions with all evidence in full inside the context, by tokens"]
    lines.append(" " * 16 + "".join(f"{budget:>9}" for budget in budgets))
    for name, curve in [("waypost", figures["curve"]), *figures["baselines"].items()]:
        lines.append(f"  {name:<14}" + "".join(f"{curve[b]:9.1%}" for b in budgets))
    lines.append(
        f"over budget: {figures['over_budget']}; formatting: {figures['format_ms']} ms; "
        f"smaller than the history by {figures['reduction']:.1%}"
    )
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--dataset", choices=[*READERS, "both"], default="both")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DATA", "../shared/data")))
    parser.add_argument("--limit", type=int, help="only this many stores of each set")
    parser.add_argument("--history", action="store_true", help="25,000-token histories at 5000")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    if options.data.is_file() and options.dataset == "both":
        parser.error("a single file needs --dataset locomo or --dataset longmemeval")
    return options


async def runs_of(options: argparse.Namespace) -> dict[str, Run]:
    """One run for each set that is there and has questions."""
    names = list(READERS) if options.dataset == "both" else [options.dataset]
    budgets = (HISTORY_BUDGET,) if options.history else BUDGETS
    runs = {}
    for name in names:
        files = files_of(name, options.data)
        stores = stores_of(name, files, history=options.history)
        run = await measure(islice(stores, options.limit), budgets)
        if run.inside:
            runs[name] = run
        else:
            print(f"{name}: left out, no questions below {options.data}")
    return runs


async def main() -> None:
    options = arguments()
    runs = await runs_of(options)
    for name, run in runs.items():
        print(f"{name}\n{describe(report([run]))}\n")
    if not runs:
        raise SystemExit(f"no data below {options.data}")
    if options.as_json:
        print(json.dumps(report(list(runs.values()))))


if __name__ == "__main__":
    asyncio.run(main())
