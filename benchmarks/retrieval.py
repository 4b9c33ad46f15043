"""How well and how fast memories are found: LoCoMo and LongMemEval through the public API.

    python -m benchmarks.retrieval --dataset locomo --data FILE [--json]
    python -m benchmarks.retrieval --dataset longmemeval --data FILE [--level turn] [--json]

Every turn is stored as one memory with the default embedder and no chat model; questions
are asked with default weights, at the time the data set says, and without counting the
recalls: a question must not change what the next one finds. The conversations run over
months, so the half-life of recency is set to a month instead of a day. Baselines run on
the same texts and vectors. LoCoMo is scored over turns (categories 1-4; 5, the adversarial
ones, apart), LongMemEval over sessions (in the order in which recalled turns name them)
and over turns; ``--level`` says which of the two are the main figures, and both are under
``levels``. Times of a search leave out the embedding of the question, shown apart, and the
first search of a store, which builds its index (``index_ms``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import waypost
from benchmarks import datasets
from benchmarks.baselines import BASELINES, Baselines
from benchmarks.datasets import ADVERSARIAL, Question, Store, Turn
from benchmarks.measures import MEASURES, Tally
from waypost import embed
from waypost.encode.terms import indexed_text
from waypost.model import NewMemory
from waypost.model.vocabulary import Origin

READERS = {"locomo": datasets.locomo, "longmemeval": datasets.longmemeval}
LEVELS = {"locomo": ("turn",), "longmemeval": ("session", "turn")}
"""The levels at which a data set has labels, the main one first."""
TURNS_RECALLED = 20
TURNS_FOR_SESSIONS = 200
BATCH = 500
HALF_LIFE_HOURS = 30 * 24.0


class TimedEmbedder:
    """Passes everything to an embedder and keeps how long queries took."""

    def __init__(self, inner: embed.Embedder) -> None:
        self._inner = inner
        self.query_seconds: list[float] = []

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return await self._inner.embed_documents(texts)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        started = time.perf_counter()
        vector = await self._inner.embed_query(text)
        self.query_seconds.append(time.perf_counter() - started)
        return vector

    async def aclose(self) -> None:
        await self._inner.aclose()


class Run:
    """One pass over a data set: stores, asks, and keeps what came back."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        names = ("waypost", *BASELINES)
        self.tallies = {level: {name: Tally() for name in names} for level in ("turn", "session")}
        self.embedder = TimedEmbedder(embed.local())
        self.stored = 0
        self.store_seconds = 0.0
        self.index_seconds: list[float] = []
        self.search_seconds: list[float] = []
        self.embed_seconds: list[float] = []

    async def play(self, engine: waypost.Engine, store: Store) -> None:
        """Store and ask as an agent of its own."""
        memory = engine.agent(store.name)
        turns = await self._remember(memory, store.turns)
        await self._build_index(memory)
        baselines = await self._baselines(store)
        for question in store.questions:
            await self._ask(memory, question, turns)
            await self._ask_baselines(baselines, store, question)

    async def _remember(
        self, memory: waypost.MemoryManager, turns: Sequence[Turn]
    ) -> dict[str, Turn]:
        """Store the turns; the answer maps memory ids to the turn each stands for."""
        by_id: dict[str, Turn] = {}
        for start in range(0, len(turns), BATCH):
            part = turns[start : start + BATCH]
            batch = [_new_memory(turn) for turn in part]
            started = time.perf_counter()
            receipts = await memory.add_memories(batch)
            self.store_seconds += time.perf_counter() - started
            for receipt, turn in zip(receipts, part, strict=True):
                by_id.setdefault(receipt.memory_id, turn)
        self.stored += len(turns)
        return by_id

    async def _build_index(self, memory: waypost.MemoryManager) -> None:
        started = time.perf_counter()
        await memory.retrieve_memories("anything", k=1, track_access=False)
        self.index_seconds.append(time.perf_counter() - started)

    async def _ask(
        self, memory: waypost.MemoryManager, question: Question, turns: dict[str, Turn]
    ) -> None:
        started = time.perf_counter()
        recall = await self._recall(memory, question, TURNS_RECALLED)
        elapsed = time.perf_counter() - started
        embedding = self.embedder.query_seconds[-1]
        self.search_seconds.append(elapsed - embedding)
        self.embed_seconds.append(embedding)
        if self.dataset == "longmemeval":
            recall = await self._recall(memory, question, TURNS_FOR_SESSIONS)
        self._note(
            "waypost", question, [turns[m.memory_id] for m in recall if m.memory_id in turns]
        )

    async def _recall(
        self, memory: waypost.MemoryManager, question: Question, k: int
    ) -> waypost.Recall:
        recall: waypost.Recall = await memory.retrieve_memories(
            question.text,
            k=k,
            now=question.asked_at,
            half_life_hours=HALF_LIFE_HOURS,
            track_access=False,
        )
        if recall.degraded:
            raise SystemExit(f"the memory answered in part only: {'; '.join(recall.reasons)}")
        return recall

    async def _baselines(self, store: Store) -> Baselines:
        texts = [indexed_text(turn.text, turn.speaker, turn.time) for turn in store.turns]
        return Baselines(texts, await self.embedder.embed_documents(texts))

    async def _ask_baselines(self, baselines: Baselines, store: Store, question: Question) -> None:
        vector = await self.embedder.embed_query(question.text)
        for name, order in baselines.rank(question.text, vector).items():
            best = order[:TURNS_FOR_SESSIONS]
            self._note(name, question, [store.turns[number] for number in best])

    def _note(self, name: str, question: Question, ranking: Sequence[Turn]) -> None:
        turns = list(dict.fromkeys(turn.turn_id for turn in ranking))
        sessions = list(dict.fromkeys(turn.session_id for turn in ranking))
        self.tallies["turn"][name].add(question.category, turns, question.turns)
        self.tallies["session"][name].add(question.category, sessions, question.sessions)

    def level(self, level: str) -> dict[str, Any]:
        """The figures of one level; adversarial questions stay out of the main ones."""
        tallies = self.tallies[level]
        own = tallies["waypost"]
        regular = [category for category in own.categories if category != ADVERSARIAL]
        return {
            "waypost": own.mean(without=ADVERSARIAL),
            "baselines": {name: tallies[name].mean(without=ADVERSARIAL) for name in BASELINES},
            "per_category": {category: own.mean(only=category) for category in regular},
        }

    def report(self, main: str) -> dict[str, Any]:
        """The object that ``--json`` prints, with one level's figures as the main ones."""
        levels = {level: self.level(level) for level in LEVELS[self.dataset]}
        figures: dict[str, Any] = {"dataset": self.dataset, "level": main, **levels[main]}
        if len(levels) > 1:
            figures["levels"] = levels
        if self.dataset == "locomo":
            tallies = self.tallies["turn"]
            apart = {name: tally.mean(only=ADVERSARIAL) for name, tally in tallies.items()}
            figures["category_5"] = apart
        return figures | {
            "ingest_per_s": round(self.stored / max(self.store_seconds, 1e-9)),
            "search_ms": {
                "p50": _percentile(self.search_seconds, 50),
                "p95": _percentile(self.search_seconds, 95),
            },
            "embed_ms": _percentile(self.embed_seconds, 50),
            "index_ms": _percentile(self.index_seconds, 50),
        }


def _new_memory(turn: Turn) -> NewMemory:
    return NewMemory(
        content=turn.text,
        source=turn.speaker,
        run_id=turn.session_id,
        timestamp=turn.time,
        origin=Origin.USER if turn.by_user else Origin.AGENT,
    )


def _percentile(seconds: Sequence[float], share: int) -> float:
    return round(1000 * float(np.percentile(seconds, share)), 3) if seconds else 0.0


def _table(title: str, rows: Iterable[tuple[str, dict[str, float]]]) -> str:
    lines = [title, " " * 26 + "".join(f"{name:>11}" for name in MEASURES)]
    for name, figures in rows:
        cells = "".join(f"{figures[measure]:11.1f}" for measure in MEASURES if figures)
        lines.append(f"  {name:<24}{cells}")
    return "\n".join(lines)


def describe(report: dict[str, Any]) -> str:
    """The report as tables for people."""
    parts = []
    for level, figures in report.get("levels", {report["level"]: report}).items():
        rows = [("waypost", figures["waypost"]), *figures["baselines"].items()]
        rows += [(f"waypost: {name}", row) for name, row in figures["per_category"].items()]
        parts.append(_table(f"{report['dataset']}, {level}s (per cent)", rows))
    if "category_5" in report:
        parts.append(_table("category 5, adversarial", report["category_5"].items()))
    search = report["search_ms"]
    parts.append(
        f"stored {report['ingest_per_s']:,} turns/s; search p50 {search['p50']} ms, "
        f"p95 {search['p95']} ms; embedding the question {report['embed_ms']} ms; "
        f"building the index of a store {report['index_ms']} ms"
    )
    return "\n\n".join(parts)


async def run(dataset: str, data: Path, limit: int | None) -> Run:
    benchmark = Run(dataset)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "benchmark.db"
        async with waypost.open(file, embedder=benchmark.embedder) as engine:
            for store in islice(READERS[dataset](data), limit):
                await benchmark.play(engine, store)
    return benchmark


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.retrieval",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", choices=sorted(READERS), required=True)
    parser.add_argument(
        "--data", type=Path, required=True, help="the public file, also .xz, or a folder with it"
    )
    parser.add_argument(
        "--level", choices=("session", "turn"), help="the level of the main figures"
    )
    parser.add_argument("--limit", type=int, help="only the first so many stores")
    parser.add_argument("--json", action="store_true", help="end with one JSON object on a line")
    options = parser.parse_args(arguments)
    level = options.level or LEVELS[options.dataset][0]
    if level not in LEVELS[options.dataset]:
        parser.error(f"{options.dataset} has labels for {' and '.join(LEVELS[options.dataset])}s")
    data = datasets.find(options.data, options.dataset)
    report = asyncio.run(run(options.dataset, data, options.limit)).report(level)
    print(describe(report))
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
