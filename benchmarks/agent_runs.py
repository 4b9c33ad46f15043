"""Read the public agent runs and conversations as memories, the way an agent would store them.

Every message, thought and tool result is one source, once: prompts that a trace repeats at each
call are not repeated here. Standing instructions (system prompts) are configuration, not memory,
and are left out. ``spans`` reads a TRAIL trace the other way, as a tracing tool would dump it.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from waypost.model import Action
from waypost.stages.compress.sources import Source, command_line

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

Run = list[Source]


def load(path: Path) -> Any:
    with lzma.open(path, "rt") as stream:
        return json.load(stream)


def tau_bench(path: Path) -> Iterator[Run]:
    for run in load(path):
        yield [_message(str(number), message) for number, message in enumerate(run["traj"])][1:]


def swe_agent(path: Path) -> Iterator[Run]:
    for run in load(path).values():
        sources: Run = []
        for number, step in enumerate(run.get("trajectory", ())):
            action = step["action"].strip().split("\n", 1)[0]
            commands = (action,) if action else ()
            sources.append(Source(f"{number}t", step["thought"], commands=commands))
            sources.append(Source(f"{number}o", step["observation"], bulk=True))
        yield sources


def who_and_when(path: Path) -> Iterator[Run]:
    for run in load(path):
        history = run["history"]
        sources: Run = [Source("q", run["question"], personal=True)]
        for number, message in enumerate(history):
            name = message.get("name") or message.get("role") or ""
            bulk = "terminal" in name.lower() or "surfer" in name.lower()
            sources.append(Source(str(number), message["content"], bulk=bulk))
        yield sources


def trail(path: Path) -> Iterator[Run]:
    data = load(path)
    for run in (*data["gaia"], *data["swe_bench"]):
        yield list(_steps(run["trace"]))


def spans(path: Path) -> Iterator[Run]:
    data = load(path)
    for run in (*data["gaia"], *data["swe_bench"]):
        yield list(_spans(run["trace"]))


def locomo(path: Path) -> Iterator[Run]:
    for item in load(path):
        conversation = item["conversation"]
        number = 1
        while f"session_{number}" in conversation:
            date = conversation[f"session_{number}_date_time"]
            turns = conversation[f"session_{number}"]
            yield [
                Source(turn["dia_id"], f"{turn['speaker']}: {turn['text']}", personal=True)
                for turn in turns
            ] + [Source("date", str(date), personal=True)]
            number += 1


def walk(trace: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every span of a trace, parents first, in time order of their start."""
    pending = list(reversed(trace["spans"]))
    while pending:
        span = pending.pop()
        yield span
        pending.extend(reversed(span.get("child_spans", [])))


def _steps(trace: dict[str, Any]) -> Iterator[Source]:
    for span in walk(trace):
        attributes = span["span_attributes"]
        kind = attributes.get("openinference.span.kind")
        if kind == "LLM":
            text = attributes.get("llm.output_messages.0.message.content") or ""
            yield Source(span["span_id"], text, commands=tuple(_calls(attributes)))
        elif kind in ("TOOL", "CHAIN"):
            yield Source(span["span_id"], _tool_text(span), bulk=True)
        elif kind == "AGENT":
            yield Source(span["span_id"], _task(attributes), personal=True)


def _spans(trace: dict[str, Any]) -> Iterator[Source]:
    for span in walk(trace):
        attributes = span["span_attributes"]
        texts = (
            attributes.get("input.value"),
            attributes.get("output.value"),
            span["status_message"],
        )
        text = "\n".join(part for part in texts if part)
        if text:
            yield Source(span["span_id"], text, bulk=True)


def _calls(attributes: dict[str, Any]) -> Iterator[str]:
    number = 0
    prefix = "llm.output_messages.0.message.tool_calls.{}.tool_call.function."
    while (name := attributes.get(prefix.format(number) + "name")) is not None:
        arguments = attributes.get(prefix.format(number) + "arguments") or "{}"
        yield command_line(Action(name=name, arguments=_arguments(arguments)))
        number += 1


def _tool_text(span: dict[str, Any]) -> str:
    output = str(span["span_attributes"].get("output.value") or "")
    return "\n".join(part for part in (output, span["status_message"]) if part) or span["span_name"]


def _task(attributes: dict[str, Any]) -> str:
    value = str(attributes.get("input.value") or "")
    try:
        return str(json.loads(value).get("task", value))
    except (ValueError, AttributeError):
        return value


def _message(name: str, message: dict[str, Any]) -> Source:
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    commands = tuple(
        command_line(Action(name=call["name"], arguments=_arguments(call["arguments"])))
        for call in calls
    )
    return Source(
        name,
        message.get("content") or "",
        commands=commands,
        bulk=message["role"] == "tool",
        personal=message["role"] == "user",
    )


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": value}
