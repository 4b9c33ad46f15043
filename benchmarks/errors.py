"""Whether an agent is told of the errors that matter, and whether patterns are real.

    python -m benchmarks.errors [--data FOLDER] [--json] [--every N]

*Recall.* The runs of TRAIL and Who&When, whose errors people have labelled, and our own labelled
tasks are played into one agent's memory: every step a memory of the run's task, every labelled
error recorded in the annotator's words (without the text of the step it happened in) at the step
where it happened. A critical error (TRAIL: impact high; Who&When: the decisive mistake) counts as
recalled when the 2000-token context for the last step of its run, as far from the error as the run
goes, has it. Harder, and reported apart: the context for the words of the very step in which the
mistake was made, asked in a new task of the same project, as if the agent were about to do it
again; there the error competes with the memories and errors of all runs.

*Patterns.* All errors of TRAIL, Who&When, the tool errors of tau-bench and our own families are
searched for patterns. A pattern is false when two of its errors are different errors: of different
families where we labelled them, else (a plain test that knows nothing of signatures) with another
tool or with less than half of their words, digits aside, in common.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import waypost
from benchmarks.agent_runs import DATA, Run, load
from benchmarks.compression_checks import Share
from benchmarks.datasets import read_json
from benchmarks.labelled_tasks import LabelledTask, labelled_tasks
from waypost import ErrorPattern, ErrorRecord, MemoryManager

SEVERITY = {"HIGH": 0.9, "MEDIUM": 0.6, "LOW": 0.3}
DECISIVE = 0.9
CRITICAL = 0.8
BUDGET = 2000
_QUERY_WORDS = 60
_WORD = re.compile(r"[a-z]{2,}")


@dataclass(frozen=True)
class Label:
    """One labelled error: where it happened (a step's name), what it was, how bad."""

    step: str
    error_type: str
    description: str
    severity: float


@dataclass(frozen=True)
class Asked:
    """A critical error that was recorded, and the questions at which it should come back."""

    kind: str
    project: str
    task: str
    error: ErrorRecord
    last_step: str
    same_step: str


class Recall:
    """Plays labelled runs and asks for their errors."""

    def __init__(self, memory: MemoryManager) -> None:
        self.memory = memory
        self.asked: list[Asked] = []
        self.families: dict[str, str] = {}

    async def play(self, run: Run, labels: Sequence[Label]) -> None:
        task = f"{run.kind} {run.name}"
        await self.memory.start_task(run.goal, task_id=task, project_id=run.kind)
        place = {step.name: number for number, step in enumerate(run.steps)}
        known = [label for label in labels if label.step in place]
        done = 0
        for label in sorted(known, key=lambda label: place[label.step]):
            until = place[label.step] + 1
            await self._remember(run, done, until, task)
            done = max(done, until)
            await self._record(run, label, task)
        await self._remember(run, done, len(run.steps), task)

    async def _remember(self, run: Run, start: int, end: int, task: str) -> None:
        steps = run.steps[start:end]
        await self.memory.add_memories(
            [step.memory(task_id=task, project_id=run.kind) for step in steps]
        )

    async def _record(self, run: Run, label: Label, task: str) -> None:
        error = await self.memory.record_error(
            label.error_type,
            label.description.replace("\x00", ""),
            task_id=task,
            error_severity=label.severity,
        )
        if label.severity >= CRITICAL:
            spoken = {step.name: step.text for step in run.steps}
            last = next((step.text for step in reversed(run.steps) if step.text.strip()), "")
            same = _first_words(spoken[label.step])
            self.asked.append(Asked(run.kind, run.kind, task, error, _first_words(last), same))

    async def play_own(self, task: LabelledTask) -> None:
        await self.memory.start_task(task.goal, task_id=task.name, project_id="own")
        await self.memory.add_memories(
            [step.memory(task_id=task.name, project_id="own") for step in task.steps]
        )
        asked = dict(task.later)
        last = task.steps[-1].text
        for one in task.errors:
            error = await self.memory.record_error(
                one.error_type,
                one.description,
                task_id=task.name,
                tool=one.tool,
                context_when_occurred=one.context,
                error_severity=one.severity,
            )
            self.families[error.error_id] = f"{task.name} {one.family}"
            if one.family in asked:
                later = asked.pop(one.family)
                self.asked.append(Asked("own", "own", task.name, error, last, later))

    async def recalled_in_task(self) -> dict[str, Share]:
        """Critical errors in the context for the last step of their own task."""
        found: dict[str, Share] = defaultdict(Share)
        for one in self.asked:
            text = await self._context(one.last_step, one.task)
            found[one.kind].add(_is_told(one.error, text), 1)
        return found

    async def recalled_elsewhere(self) -> dict[str, Share]:
        """Critical errors in the context of a new task that is about to repeat the step."""
        found: dict[str, Share] = defaultdict(Share)
        for one in self.asked:
            task = f"again {one.project}"
            await self.memory.start_task("Try again", task_id=task, project_id=one.project)
            text = await self._context(one.same_step, task)
            found[one.kind].add(_is_told(one.error, text), 1)
        return found

    async def _context(self, query: str, task: str) -> str:
        package = await self.memory.get_relevant_context(query, task_id=task, max_tokens=BUDGET)
        return package.text


def _is_told(error: ErrorRecord, text: str) -> bool:
    """Whether a context has the first words of an error's description, letter for letter."""
    first = " ".join(error.error_description.split())[:80]
    return first in " ".join(text.split())


def _first_words(text: str) -> str:
    return " ".join(text.split()[:_QUERY_WORDS]) or "what next"


async def record_tool_errors(memory: MemoryManager, runs: Sequence[Run]) -> None:
    """The errors that tools returned in tau-bench, with the tool that was called."""
    for run in runs:
        task = f"{run.kind} {run.name}"
        await memory.start_task(run.goal, task_id=task, project_id=run.kind)
        tool = None
        for step in run.steps:
            if step.actions:
                tool = step.actions[-1].name
            if step.role == "tool" and step.text.startswith("Error"):
                await memory.record_error("execution", step.text, task_id=task, tool=tool)


def pattern_figures(
    patterns: Sequence[ErrorPattern],
    errors: dict[str, ErrorRecord],
    families: dict[str, str],
) -> tuple[int, list[ErrorPattern]]:
    """How many patterns are real, and those that are not."""
    false = [
        pattern
        for pattern in patterns
        if any(
            _differ(errors[one], errors[other], families)
            for one, other in combinations(pattern.error_ids[:50], 2)
        )
    ]
    return len(patterns) - len(false), false


def _differ(one: ErrorRecord, other: ErrorRecord, families: dict[str, str]) -> bool:
    if one.error_id in families or other.error_id in families:
        return families.get(one.error_id) != families.get(other.error_id)
    first, second = (set(_WORD.findall(e.error_description.lower())) for e in (one, other))
    shared = len(first & second) / max(len(first | second), 1)
    return one.tool != other.tool or one.error_type != other.error_type or shared < 0.5


def trail_labels(folder: Path) -> Iterator[list[Label]]:
    for path in sorted((folder / "trail").glob("*.json*")):
        data = read_json(path)
        for group in sorted(data):
            for run in data[group]:
                yield [_trail_label(one) for one in run["annotation"].get("errors", ())]


def _trail_label(error: dict[str, Any]) -> Label:
    return Label(
        step=str(error.get("location", "")),
        error_type=str(error.get("category") or "unknown").strip()[:64],
        description=str(error.get("description") or error.get("evidence") or "no description"),
        severity=SEVERITY.get(str(error.get("impact", "")).upper(), 0.5),
    )


def who_and_when_labels(folder: Path) -> Iterator[list[Label]]:
    for path in sorted((folder / "who_and_when").glob("*.json*")):
        for run in read_json(path):
            step = str(run["mistake_step"])
            yield [Label(step, "logic", str(run["mistake_reason"]), DECISIVE)]


LABELS = {"trail": trail_labels, "who_and_when": who_and_when_labels}


def labelled_runs(folder: Path, kind: str) -> list[tuple[Run, list[Label]]]:
    runs, labels = list(load(folder, kind)), list(LABELS[kind](folder))
    if len(runs) != len(labels):
        raise ValueError(f"{kind}: {len(runs)} runs but {len(labels)} sets of labels")
    return list(zip(runs, labels, strict=True))


async def measure(folder: Path, every: int) -> dict[str, float]:
    async with waypost.open(":memory:") as engine:
        memory = engine.agent("bench")
        recall = Recall(memory)
        for kind in LABELS:
            for run, labels in labelled_runs(folder, kind)[::every]:
                await recall.play(run, labels)
        for task in labelled_tasks():
            await recall.play_own(task)
        await record_tool_errors(memory, list(load(folder, "tau_bench"))[::every])
        in_task = await recall.recalled_in_task()
        elsewhere = await recall.recalled_elsewhere()
        errors = {error.error_id: error for error in await memory.get_error_history()}
        patterns = await memory.detect_error_patterns()
    real, false = pattern_figures(patterns, errors, recall.families)
    report(in_task, elsewhere, patterns, false)
    total = _summed(in_task)
    return {
        "critical_recall": round(total.value, 4),
        "pattern_precision": round(real / len(patterns), 4) if patterns else 1.0,
        "false_patterns": len(false),
    }


def report(
    in_task: dict[str, Share],
    elsewhere: dict[str, Share],
    patterns: Sequence[ErrorPattern],
    false: Sequence[ErrorPattern],
) -> None:
    print("| critical errors of | labelled | in the context of a later step | before a repeat |")
    print("|---|---:|---:|---:|")
    for kind in in_task:
        print(f"| {kind} | {in_task[kind].total} | {in_task[kind].value:.1%} | "
              f"{elsewhere[kind].value:.1%} |")  # fmt: skip
    total, again = _summed(in_task), _summed(elsewhere)
    print(f"| all | {total.total} | {total.value:.1%} | {again.value:.1%} |\n")
    print(f"{len(patterns)} patterns, {len(false)} false")
    for pattern in patterns:
        mark = "FALSE " if pattern in false else ""
        print(f"- {mark}{pattern.occurrences} × {pattern.signature}")
    print()


def _summed(shares: dict[str, Share]) -> Share:
    total = Share()
    for share in shares.values():
        total.add(share.kept, share.total)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the data sets")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    parser.add_argument("--every", type=int, default=1, help="only every n-th run")
    arguments = parser.parse_args()
    figures = asyncio.run(measure(arguments.data, arguments.every))
    if arguments.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
