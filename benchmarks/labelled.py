"""Are the right memories first, with default settings? A labelled set of our own.

    python -m benchmarks.labelled [--json]

One agent's memory of eight weeks (``labelled_set/memories.txt``) is stored through the
public API, as it was said and in its order, and a hundred questions are asked with every
setting at its default, one afternoon, each as if nothing had been asked before. Reported
are R-precision (the share of a question's R answers among the first R), the share of
questions with an answer in the first three, recall in the first five, and how many
answers show a corrected statement beside its correction without a word about it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import waypost
from waypost.model import NewMemory
from waypost.model.vocabulary import Origin

FOLDER = Path(__file__).with_name("labelled_set")
ASKED_AT = datetime(2026, 4, 24, 17, tzinfo=UTC)
SHOWN = 5
_MEMORY = re.compile(r"(\w+)(!?)(?:\^(\w+))? (user|agent|tool) (\w+): (.+)")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A memory of the set; ``corrects`` names the one it puts right."""

    label: str
    new: NewMemory
    corrects: str | None


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    answers: frozenset[str]


@dataclass(slots=True)
class Scores:
    """What came back, question by question."""

    r_precision: list[float] = field(default_factory=list)
    hit: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    reciprocal_rank: list[float] = field(default_factory=list)
    contradictory: list[bool] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)

    def add(self, question: Question, ranking: Sequence[str], contradictory: bool) -> None:
        found = [place for place, label in enumerate(ranking) if label in question.answers]
        wanted = len(question.answers)
        self.r_precision.append(sum(place < wanted for place in found) / wanted)
        self.hit.append(float(any(place < 3 for place in found)))
        self.recall.append(sum(place < SHOWN for place in found) / wanted)
        self.reciprocal_rank.append(1 / (found[0] + 1) if found else 0.0)
        self.contradictory.append(contradictory)
        if self.r_precision[-1] < 1:
            wanted_labels = " ".join(sorted(question.answers))
            self.misses.append(f"{question.text}  wanted {wanted_labels}, got {' '.join(ranking)}")

    def report(self, memories: int) -> dict[str, Any]:
        return {
            "questions": len(self.hit),
            "memories": memories,
            "r_precision": round(fmean(self.r_precision), 3),
            "hit@3": round(fmean(self.hit), 3),
            "recall@5": round(fmean(self.recall), 3),
            "mrr": round(fmean(self.reciprocal_rank), 3),
            "contradictory": round(fmean(self.contradictory), 3),
        }


def read_memories(file: Path = FOLDER / "memories.txt") -> Iterator[Labelled]:
    run, moment = "", ASKED_AT
    for line in _lines(file):
        if line.startswith("= "):
            _, run, day, time = line.split()
            moment = datetime.fromisoformat(f"{day}T{time}+00:00")
            continue
        match = _MEMORY.fullmatch(line)
        if match is None:
            raise SystemExit(f"{file.name}: cannot read {line!r}")
        label, critical, corrects, origin, source, text = match.groups()
        new = NewMemory(
            content=text,
            source=source,
            run_id=run,
            timestamp=moment,
            origin=Origin(origin),
            is_critical=bool(critical),
        )
        yield Labelled(label, new, corrects)
        moment += timedelta(minutes=1)


def read_questions(file: Path = FOLDER / "questions.txt") -> Iterator[Question]:
    for line in _lines(file):
        labels, text = line.split(" | ")
        yield Question(text, frozenset(labels.split()))


def _lines(file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


async def ask_all(memory: waypost.MemoryManager, labels: dict[str, Labelled]) -> Scores:
    """Ask every question; ``labels`` gives the set's memory by memory id."""
    scores = Scores()
    for question in read_questions():
        recall = await memory.retrieve_memories(
            question.text, k=SHOWN, now=ASKED_AT, track_access=False
        )
        if recall.degraded:
            raise SystemExit(f"answered in part only: {'; '.join(recall.reasons)}")
        shown = [item for item in recall if item.memory_id in labels]
        ranking = [labels[item.memory_id].label for item in shown]
        unlabelled = {labels[i.memory_id].label for i in shown if not i.conflicts_with}
        contradictory = any(
            held.corrects in unlabelled and held.label in unlabelled for held in labels.values()
        )
        scores.add(question, ranking, contradictory)
    return scores


async def run() -> tuple[Scores, int]:
    labelled = list(read_memories())
    with TemporaryDirectory() as folder:
        async with waypost.open(Path(folder) / "labelled.db") as engine:
            memory = engine.agent("assistant")
            labels = {}
            for item in labelled:
                stored = await memory.add_memory(item.new)
                labels[stored.memory_id] = item
            return await ask_all(memory, labels), len(labelled)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.labelled",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="end with one JSON object on a line")
    given = parser.parse_args(arguments)
    scores, memories = asyncio.run(run())
    report = scores.report(memories)
    print("\n".join(["not all answers first:", *(f"  {miss}" for miss in scores.misses), ""]))
    for name, value in report.items():
        print(f"{name:<14} {value}")
    if given.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
