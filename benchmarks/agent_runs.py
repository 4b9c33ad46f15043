"""The public agent runs and conversations as steps, the way an agent would store them.

Every message, thought and tool result is one step, once: prompts that a trace repeats at each call
are not repeated here. Standing instructions (system prompts) are configuration, not memory, and
are left out. ``raw_spans`` reads a TRAIL trace the other way, as a tracing tool would dump it.

Files are found below a folder laid out as ``trail/``, ``tau_bench/``, ``swe_agent/``,
``who_and_when/``, ``locomo/``, ``longmemeval/``, packed or not, whatever they are called.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.datasets import read_json
from waypost.model import Action, NewMemory, Origin
from waypost.model.vocabulary import MESSAGE, REASONING, TOOL_OUTPUT
from waypost.stages.compress.sources import command_line
from waypost.tokens import count_tokens

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
_ORIGINS = {"person": Origin.USER, "agent": Origin.AGENT, "tool": Origin.TOOL}
_KINDS = {"person": MESSAGE, "agent": REASONING, "tool": TOOL_OUTPUT}


@dataclass(frozen=True)
class Step:
    """One thing said, done or received; ``role`` is person, agent or tool."""

    name: str
    role: str
    text: str
    actions: tuple[Action, ...] = ()

    @property
    def tokens(self) -> int:
        """Of the text and of the commands, as the compressor counts them."""
        return sum(map(count_tokens, (self.text, *map(command_line, self.actions))))

    def memory(self, **details: Any) -> NewMemory:
        """The step as a memory; one that only acts says what it called."""
        said = self.text.replace("\x00", "").strip()
        return NewMemory(
            content=said or ", ".join(action.name for action in self.actions),
            origin=_ORIGINS[self.role],
            kind=_KINDS[self.role],
            actions=self.actions,
            **details,
        )


@dataclass(frozen=True)
class Run:
    kind: str
    name: str
    steps: tuple[Step, ...]

    @property
    def goal(self) -> str:
        """What a person asked for first; the run's name when nobody did."""
        asked = (step.text for step in self.steps if step.role == "person")
        return next(asked, self.name)

    @property
    def tokens(self) -> int:
        return sum(step.tokens for step in self.steps)

    @property
    def tool_share(self) -> float:
        """How much of the run, in tokens, is what tools returned."""
        returned = sum(step.tokens for step in self.steps if step.role == "tool")
        return returned / max(self.tokens, 1)


Reader = Callable[[Any], Iterator[tuple[str, list[Step]]]]


def load(folder: Path, kind: str) -> Iterator[Run]:
    """All runs of a kind below a data folder, also empty ones; none when there is no such set."""
    directory = "trail" if kind == "raw_spans" else kind
    for path in sorted((folder / directory).glob("*.json*")):
        for name, steps in READERS[kind](read_json(path)):
            said = (step for step in steps if step.text.strip() or step.actions)
            yield Run(kind, name, tuple(said))


def _tau_bench(data: Any) -> Iterator[tuple[str, list[Step]]]:
    for number, run in enumerate(data):
        told = enumerate(run["traj"])
        yield f"run {number}", [_message(n, one) for n, one in told if one["role"] != "system"]


def _swe_agent(data: Any) -> Iterator[tuple[str, list[Step]]]:
    for name, run in data.items():
        steps = []
        for number, step in enumerate(run.get("trajectory", ())):
            command = step["action"].strip().split("\n", 1)[0]
            actions = (Action(name=command),) if command else ()
            steps.append(Step(f"{number}t", "agent", step.get("thought") or "", actions))
            steps.append(Step(f"{number}o", "tool", step.get("observation") or ""))
        yield name, steps


def _who_and_when(data: Any) -> Iterator[tuple[str, list[Step]]]:
    for number, run in enumerate(data):
        steps = [Step("question", "person", run["question"])]
        steps += [
            Step(str(place), "agent", message["content"])
            for place, message in enumerate(run["history"])
        ]
        yield f"run {number}", steps


def _trail(data: Any) -> Iterator[tuple[str, list[Step]]]:
    for group in sorted(data):
        for number, run in enumerate(data[group]):
            yield f"{group} {number}", list(_span_steps(run["trace"]))


def _raw_spans(data: Any) -> Iterator[tuple[str, list[Step]]]:
    for group in sorted(data):
        for number, run in enumerate(data[group]):
            yield f"{group} {number}", list(_whole_spans(run["trace"]))


def _locomo(data: Any) -> Iterator[tuple[str, list[Step]]]:
    for number, item in enumerate(data):
        conversation = item["conversation"]
        session = 1
        while f"session_{session}" in conversation:
            date = str(conversation[f"session_{session}_date_time"])
            turns = conversation[f"session_{session}"]
            steps = [Step("date", "person", date)]
            steps += [
                Step(turn["dia_id"], "person", f"{turn['speaker']}: {turn['text']}")
                for turn in turns
            ]
            yield f"conversation {number} session {session}", steps
            session += 1


def _longmemeval(data: Any) -> Iterator[tuple[str, list[Step]]]:
    sessions = data["sessions"] if isinstance(data, dict) else _inline_sessions(data)
    for name in sorted(sessions):
        roles = {"user": "person", "assistant": "agent"}
        yield (
            name,
            [
                Step(str(place), roles.get(turn["role"], "agent"), turn["content"])
                for place, turn in enumerate(sessions[name])
            ],
        )


def _inline_sessions(questions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        name: turns
        for item in questions
        for name, turns in zip(item["haystack_session_ids"], item["haystack_sessions"], strict=True)
    }


READERS: dict[str, Reader] = {
    "trail": _trail,
    "tau_bench": _tau_bench,
    "swe_agent": _swe_agent,
    "who_and_when": _who_and_when,
    "raw_spans": _raw_spans,
    "locomo": _locomo,
    "longmemeval": _longmemeval,
}


def walk(trace: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every span of a trace, parents first, in the order of their start."""
    pending = list(reversed(trace["spans"]))
    while pending:
        span = pending.pop()
        yield span
        pending.extend(reversed(span.get("child_spans", [])))


def _span_steps(trace: dict[str, Any]) -> Iterator[Step]:
    for span in walk(trace):
        attributes = span["span_attributes"]
        kind = attributes.get("openinference.span.kind")
        if kind == "LLM":
            text = attributes.get("llm.output_messages.0.message.content") or ""
            yield Step(span["span_id"], "agent", text, tuple(_calls(attributes)))
        elif kind in ("TOOL", "CHAIN"):
            yield Step(span["span_id"], "tool", _tool_text(span))
        elif kind == "AGENT":
            yield Step(span["span_id"], "person", _task(attributes))


def _whole_spans(trace: dict[str, Any]) -> Iterator[Step]:
    for span in walk(trace):
        attributes = span["span_attributes"]
        parts = (attributes.get("input.value"), attributes.get("output.value"), _status(span))
        yield Step(span["span_id"], "tool", "\n".join(str(part) for part in parts if part))


def _calls(attributes: dict[str, Any]) -> Iterator[Action]:
    number = 0
    prefix = "llm.output_messages.0.message.tool_calls.{}.tool_call.function."
    while (name := attributes.get(prefix.format(number) + "name")) is not None:
        arguments = attributes.get(prefix.format(number) + "arguments") or "{}"
        yield Action(name=name, arguments=_arguments(arguments))
        number += 1


def _tool_text(span: dict[str, Any]) -> str:
    output = str(span["span_attributes"].get("output.value") or "")
    return "\n".join(part for part in (output, _status(span)) if part)


def _status(span: dict[str, Any]) -> str:
    return str(span.get("status_message") or "")


def _task(attributes: dict[str, Any]) -> str:
    value = str(attributes.get("input.value") or "")
    try:
        return str(json.loads(value).get("task", value))
    except (ValueError, AttributeError):
        return value


def _message(number: int, message: dict[str, Any]) -> Step:
    roles = {"user": "person", "tool": "tool"}
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    actions = tuple(
        Action(name=call["name"], arguments=_arguments(call["arguments"])) for call in calls
    )
    role = roles.get(message["role"], "agent")
    return Step(str(number), role, message.get("content") or "", actions)


def _arguments(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": value}
