"""How fast one agent's memory is at a given size, against the floor in the same run.

    python -m benchmarks.speed --n 100000 [--json]

Made-up conversations are stored through the public API in batches. Questions that have an
answer are then asked one by one and, in turns of twenty, the floor runs on the same ones: the
embedding, a bare vector search and one text query of SQLite (FTS5, common words left out)
over the same rows; a stricter floor takes BM25 over bare arrays in memory instead. A fresh process
opens the file and answers. Single acknowledged writes alternate with bare durable commits
of the same text. Compare times within one run only; those of the processor ("cpu") suffer
less from what else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import waypost
from benchmarks.floors import BEST, FtsFloor, TextFloor, VectorFloor
from benchmarks.synthetic import Conversations, Question
from waypost import embed
from waypost.encode.terms import analyze
from waypost.index import AgentIndex, Query
from waypost.store.sqlite import driver

AGENT = "speed"
BATCH = 500
WARM_UP = 10
TURN = 20
STEPS = ("embed", "vector", "text")
"""What the floor is made of: the embedding, a bare vector search, one text query of SQLite."""
STRICT_STEPS = ("embed", "vector", "postings")
"""The same with a text search over bare arrays in memory."""


class Clock:
    """Seconds of named steps, one entry per round: by the wall and of the processor."""

    def __init__(self) -> None:
        self._wall: dict[str, list[float]] = {}
        self._processor: dict[str, list[float]] = {}
        self.start()

    def start(self) -> None:
        self._last = time.perf_counter(), time.process_time()

    def lap(self, name: str) -> None:
        """Note the time since the start or the last lap."""
        wall, processor = self._last
        self._wall.setdefault(name, []).append(time.perf_counter() - wall)
        self._processor.setdefault(name, []).append(time.process_time() - processor)
        self.start()

    def total(self, name: str) -> float:
        return sum(self._wall[name])

    def ms(self, name: str, share: int = 50) -> float:
        return _milliseconds(self._wall[name], share)

    def processor_ms(self, name: str) -> float:
        return _milliseconds(self._processor[name], 50)

    def processor_total(self, name: str) -> float:
        return sum(self._processor[name])


def batched(questions: Sequence[Question], size: int) -> list[Sequence[Question]]:
    return [questions[start : start + size] for start in range(0, len(questions), size)]


def _milliseconds(seconds: Sequence[float], share: int) -> float:
    return round(1000 * float(np.percentile(seconds, share)), 3)


class Run:
    """One file from empty to measured."""

    def __init__(self, folder: Path, n: int, questions: int) -> None:
        self.file = folder / "speed.db"
        self.folder = folder
        self.n = n
        self.conversations = Conversations()
        places = np.random.default_rng(1).integers(0, n, questions + WARM_UP)
        self.questions = [self.conversations.question(int(place)) for place in places]
        self.embedder = embed.local()
        self.figures: dict[str, Any] = {"n": n}

    async def play(self, *, writes: int) -> dict[str, Any]:
        async with waypost.open(self.file, embedder=self.embedder) as engine:
            memory = engine.agent(AGENT)
            answers = await self._store(memory)
            await self._index(memory)
        self.figures |= self._sizes()
        self.figures |= self._open_elsewhere()
        async with waypost.open(self.file, embedder=self.embedder) as engine:
            await self._ask(engine.agent(AGENT), answers)
            await self._write_singly(engine.agent(AGENT), writes)
        return self.figures

    async def _store(self, memory: waypost.MemoryManager) -> dict[int, str]:
        """Store everything; the answer gives the id of each turn that is asked for."""
        wanted = {question.answer for question in self.questions}
        answers: dict[int, str] = {}
        turns = self.conversations.memories(self.n)
        clock, done = Clock(), 0
        while batch := list(islice(turns, BATCH)):
            clock.start()
            receipts = await memory.add_memories(batch)
            clock.lap("store")
            asked = wanted.intersection(range(done, done + len(batch)))
            answers |= {turn: receipts[turn - done].memory_id for turn in asked}
            done += len(batch)
            _progress("stored", done, self.n)
        self.figures["ingest_per_s"] = round(self.n / clock.total("store"))
        self.figures["cpu"] = {"ingest_per_s": round(self.n / clock.processor_total("store"))}
        return answers

    async def _index(self, memory: waypost.MemoryManager) -> None:
        started = time.perf_counter()
        await memory.retrieve_memories(self.questions[0].text, track_access=False)
        self.figures["index_build_s"] = round(time.perf_counter() - started, 2)

    def _sizes(self) -> dict[str, Any]:
        """All files together, and the bare text of the memories."""
        texts = sum(len(new.content.encode()) for new in self.conversations.memories(self.n))
        return {"disk_mb": _megabytes(self.folder), "raw_text_mb": round(texts / 1e6, 1)}

    def _open_elsewhere(self) -> dict[str, Any]:
        question = self.questions[-1].text
        command = [sys.executable, "-m", "benchmarks.first_answer", str(self.file), AGENT, question]
        # As after an installation: the first of two processes leaves its bytecode behind.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(2):
            output = subprocess.run(
                command, check=True, capture_output=True, text=True, env=environment
            ).stdout
        answer: dict[str, Any] = json.loads(output)
        if answer.pop("degraded") or not answer.pop("answers"):
            raise SystemExit("the fresh process got no full answer")
        return answer

    async def _ask(self, memory: waypost.MemoryManager, answers: dict[int, str]) -> None:
        """Memory and floor in turns of a few questions, so that neither starts cold each time."""
        floors = Floors(self.file, self.folder / "fts.db", self.embedder)
        for question in self.questions[:WARM_UP]:
            await memory.retrieve_memories(question.text)
            await floors.ask(question, Clock())
        clock, hits = Clock(), 0
        for turn in batched(self.questions[WARM_UP:], TURN):
            for question in turn:
                hits += await self._answered(memory, question, answers, clock)
            for question in turn:
                await floors.ask(question, clock)
        floors.ask_for_all_words(self.questions[:TURN], clock)
        self.figures |= floors.figures(clock)
        self.figures["cpu"] |= floors.processor_figures(clock)
        self.figures["answered@5"] = round(hits / (len(self.questions) - WARM_UP), 3)
        self.figures["index_recall@10"] = self._index_recall(floors.vectors)
        floors.close()

    @staticmethod
    async def _answered(
        memory: waypost.MemoryManager, question: Question, answers: dict[int, str], clock: Clock
    ) -> bool:
        clock.start()
        recall = await memory.retrieve_memories(question.text)
        clock.lap("retrieve")
        if recall.degraded:
            raise SystemExit(f"answered in part only: {'; '.join(recall.reasons)}")
        return answers[question.answer] in [m.memory_id for m in recall]

    def _index_recall(self, vectors: VectorFloor) -> float:
        """How many of the exact nearest ten are the index's nearest ten, on average."""
        (saved,) = self.file.with_name(self.file.name + ".index").glob("*.index")
        loaded = AgentIndex.load(saved, embedder=self.embedder.name)
        assert loaded is not None
        index, _ = loaded
        found = 0
        for question in self.questions:
            vector = self.embedder.embed([question.text])[0]
            candidates = index.candidates(Query(vector=vector, limit=self.n))
            cosines = index.vector_of(candidates.row_ids) @ vector
            nearest = candidates.row_ids[np.argsort(-cosines, kind="stable")[:BEST]]
            found += len(np.intersect1d(vectors.exact(vector), nearest))
        return round(found / (BEST * len(self.questions)), 4)

    async def _write_singly(self, memory: waypost.MemoryManager, writes: int) -> None:
        bare = BareTable(self.folder / "bare.db", self.conversations, self.n)
        clock = Clock()
        for new in islice(Conversations(seed=8).memories(writes + WARM_UP), writes + WARM_UP):
            clock.start()
            await memory.add_memory(new)
            clock.lap("write")
            bare.insert(new.content)
            clock.lap("bare commit")
        bare.close()
        own, floor = clock.ms("write"), clock.ms("bare commit")
        self.figures |= {
            "write_ms": {"p50": own, "p95": clock.ms("write", 95)},
            "bare_commit_ms": {"p50": floor},
            "write_to_bare_commit": round(own / floor, 2),
        }
        self.figures["cpu"] |= {
            "write_ms": clock.processor_ms("write"),
            "bare_commit_ms": clock.processor_ms("bare commit"),
        }


class Floors:
    """The floor of a question, timed step by step."""

    def __init__(self, file: Path, fts_file: Path, embedder: Any) -> None:
        self._embedder = embedder
        self.vectors = VectorFloor(file)
        self._postings = TextFloor(file)
        self._fts = FtsFloor(file, fts_file)

    async def ask(self, question: Question, clock: Clock) -> None:
        clock.start()
        vector = await self._embedder.embed_query(question.text)
        clock.lap("embed")
        self.vectors.search(vector)
        clock.lap("vector")
        self._fts.search(question.text)
        clock.lap("text")
        self._postings.search(analyze(question.text))
        clock.lap("postings")

    def ask_for_all_words(self, questions: Sequence[Question], clock: Clock) -> None:
        for question in questions:
            clock.start()
            self._fts.search_all(question.text)
            clock.lap("all words")

    def figures(self, clock: Clock) -> dict[str, Any]:
        own = clock.ms("retrieve")
        floor, strict = _sum(clock.ms, STEPS), _sum(clock.ms, STRICT_STEPS)
        return {
            "retrieve_ms": {f"p{share}": clock.ms("retrieve", share) for share in (50, 95, 99)},
            "floor_ms": {"p50": floor} | {name: clock.ms(name) for name in STEPS},
            "ratio_to_floor": round(own / floor, 2),
            "strict_floor_ms": {"p50": strict} | {name: clock.ms(name) for name in STRICT_STEPS},
            "ratio_to_strict_floor": round(own / strict, 2),
            "embed_share": round(clock.ms("embed") / own, 3),
            "fts5_all_words_ms": {"p50": clock.ms("all words")},
        }

    def processor_figures(self, clock: Clock) -> dict[str, Any]:
        own = clock.processor_ms("retrieve")
        floor, strict = _sum(clock.processor_ms, STEPS), _sum(clock.processor_ms, STRICT_STEPS)
        return {
            "retrieve_ms": own,
            "floor_ms": floor,
            "ratio_to_floor": round(own / floor, 2),
            "strict_floor_ms": strict,
            "ratio_to_strict_floor": round(own / strict, 2),
        }

    def close(self) -> None:
        self._fts.close()


def _sum(milliseconds: Callable[[str], float], steps: Sequence[str]) -> float:
    return round(sum(map(milliseconds, steps)), 3)


class BareTable:
    """A plain table of texts in a file of its own, as durable as the memory: WAL and FULL."""

    def __init__(self, file: Path, conversations: Conversations, rows: int) -> None:
        self._connection = driver().connect(str(file), isolation_level=None)
        for statement in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "CREATE TABLE turns (id INTEGER PRIMARY KEY, text TEXT)",
            "BEGIN",
        ):
            self._connection.execute(statement)
        texts = ((new.content,) for new in conversations.memories(rows))
        self._connection.executemany("INSERT INTO turns(text) VALUES (?)", texts)
        self._connection.execute("COMMIT")

    def insert(self, text: str) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("INSERT INTO turns(text) VALUES (?)", (text,))
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


def _megabytes(folder: Path) -> float:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return round(size / 1e6, 1)


def _progress(what: str, done: int, of: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{what} {done:,} of {of:,}", end="\n" if done == of else "", file=sys.stderr)


def describe(figures: dict[str, Any]) -> str:
    """The figures as lines for people."""
    retrieve, floor = figures["retrieve_ms"], figures["floor_ms"]
    strict = figures["strict_floor_ms"]
    return "\n".join(
        (
            f"{figures['n']:,} memories of one agent",
            f"stored      {figures['ingest_per_s']:,} per second in batches of {BATCH}",
            f"one write   p50 {figures['write_ms']['p50']} ms, "
            f"{figures['write_to_bare_commit']} x a bare durable commit "
            f"({figures['bare_commit_ms']['p50']} ms)",
            f"retrieve    p50 {retrieve['p50']}, p95 {retrieve['p95']}, p99 {retrieve['p99']} ms; "
            f"{figures['ratio_to_floor']} x the floor of {floor['p50']} ms (embedding "
            f"{floor['embed']}, vectors {floor['vector']}, text {floor['text']})",
            f"            {figures['ratio_to_strict_floor']} x a floor of {strict['p50']} ms with "
            f"postings in memory; an FTS5 query for every word alone takes "
            f"{figures['fts5_all_words_ms']['p50']} ms",
            f"            answered in the first five: {figures['answered@5']:.0%}",
            f"index       recall@10 {figures['index_recall@10']} against exact vectors, "
            f"built in {figures['index_build_s']} s",
            f"opened      and answered by a new process in {figures['open_s']} s "
            f"with {figures['rss_mb']} MB of memory; {figures['disk_mb']} MB on disk",
        )
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed")
    parser.add_argument("--n", type=int, default=100_000, help="how many memories")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--writes", type=int, default=200, help="single acknowledged writes")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    given = parser.parse_args(arguments)
    if given.n < 5_000:
        parser.error("--n must be at least 5000: smaller indexes are not saved for the next open")
    with TemporaryDirectory() as folder:
        figures = asyncio.run(Run(Path(folder), given.n, given.questions).play(writes=given.writes))
    print(describe(figures))
    if given.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
