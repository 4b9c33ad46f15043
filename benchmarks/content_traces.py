"""Real agent runs as plain OpenAI message lists, the input of ``benchmarks.content``.

Three public sets are read: TRAIL (OpenTelemetry spans), tau-bench (message lists)
and SWE-agent (thought, action, observation). Each becomes a :class:`Trace`: one
list of messages in which every tool call is followed by its result. A step is an
assistant message; what the model saw at that step is everything before it.
"""

from __future__ import annotations

import ast
import json
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Message = dict[str, Any]

_CALL_ID = re.compile(r"'id': '([^']+)'")
_CALL_NAME = re.compile(r"'name': '([^']+)'")
_RESPONSE_HEAD = re.compile(r"\ACall id: (\S+)\n(Observation|Error):\n?")


@dataclass(frozen=True)
class Trace:
    family: str
    name: str
    messages: tuple[Message, ...]


def load_traces(folder: Path) -> list[Trace]:
    """All runs below ``folder`` (``trail/``, ``tau_bench/``, ``swe_agent/``), in a fixed order."""
    readers = {"trail": _trail, "tau_bench": _tau_bench, "swe_agent": _swe_agent}
    return [
        trace
        for family, reader in readers.items()
        for path in sorted((folder / family).glob("*.json*"))
        for trace in reader(_read(path))
        if any(message["role"] == "tool" for message in trace.messages)
    ]


def _read(path: Path) -> Any:
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def _tau_bench(data: Any) -> Iterator[Trace]:
    for name, run in _runs(data):
        messages = [_plain(message) for message in run.get("traj") or run.get("messages") or ()]
        yield Trace("tau_bench", f"run {name}", tuple(messages))


def _runs(data: Any) -> Iterator[tuple[Any, Any]]:
    """The runs of a file, whether it lists or names them."""
    yield from data.items() if isinstance(data, dict) else enumerate(data)


def _plain(message: Message) -> Message:
    kept = {"role": message["role"], "content": message.get("content")}
    for key in ("tool_calls", "tool_call_id"):
        if message.get(key):
            kept[key] = message[key]
    if kept["role"] != "assistant" or not kept.get("tool_calls"):
        kept["content"] = kept["content"] or ""
    return kept


def _swe_agent(data: Any) -> Iterator[Trace]:
    for name, run in _runs(data):
        yield Trace("swe_agent", f"run {name}", tuple(_actions_as_calls(run["history"])))


def _actions_as_calls(history: list[Message]) -> Iterator[Message]:
    """SWE-agent keeps actions in the text; here each becomes a call, its observation the result."""
    open_call: str | None = None
    for number, message in enumerate(history):
        text = _text_of(message["content"])
        if message["role"] == "assistant" and number + 1 < len(history):
            open_call = f"call_{number}"
            thought = message.get("thought") or ""
            yield _call(open_call, "run", {"command": message.get("action") or text}, thought)
        elif open_call:
            yield {"role": "tool", "tool_call_id": open_call, "content": text}
            open_call = None
        else:
            yield {"role": message["role"], "content": text}


def _call(call_id: str, name: str, arguments: Any, text: str | None = None) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    call = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": text or None, "tool_calls": [call]}


def _trail(data: Any) -> Iterator[Trace]:
    groups = data if isinstance(data, dict) else {"runs": data}
    for group, runs in groups.items():
        for number, run in enumerate(runs):
            for part, messages in enumerate(_agent_conversations(run["trace"]["spans"])):
                yield Trace("trail", f"{group} {number}.{part}", tuple(messages))


def _agent_conversations(spans: list[dict[str, Any]]) -> Iterator[list[Message]]:
    """One conversation per agent span: the longest prompt of its steps, plus the last reply."""
    for span in _walk(spans):
        if span.get("span_attributes", {}).get("openinference.span.kind") != "AGENT":
            continue
        calls = [call for call in _own_model_calls(span) if _messages(call, "input")]
        if calls:
            last = max(calls, key=lambda call: len(_messages(call, "input")))
            raw = _messages(last, "input") + _messages(last, "output")
            yield list(_joined_calls(raw))


def _walk(spans: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for span in spans:
        yield span
        yield from _walk(span.get("child_spans", []))


def _own_model_calls(agent: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Model calls inside the numbered steps of this agent, not of the agents it started."""
    for child in agent.get("child_spans", []):
        if child["span_name"].startswith("Step"):
            for span in child.get("child_spans", []):
                if span.get("span_attributes", {}).get("openinference.span.kind") == "LLM":
                    yield span["span_attributes"]


def _messages(attributes: dict[str, Any], side: str) -> list[tuple[str, str]]:
    found = []
    while True:
        prefix = f"llm.{side}_messages.{len(found)}.message"
        if f"{prefix}.role" not in attributes:
            return found
        found.append((attributes[f"{prefix}.role"], attributes.get(f"{prefix}.content") or ""))


def _joined_calls(raw: list[tuple[str, str]]) -> Iterator[Message]:
    """Join smolagents' separate thought, tool-call and tool-response messages into pairs."""
    pending: Message | None = None
    for role, text in raw:
        if role == "tool-call":
            thought = pending["content"] if pending else None
            pending = _smolagents_call(text, thought)
            continue
        if role == "tool-response" and pending and pending.get("tool_calls"):
            call_id = pending["tool_calls"][0]["id"]
            yield pending
            yield {"role": "tool", "tool_call_id": call_id, "content": _response_text(text)}
            pending = None
            continue
        if pending:
            yield _without_calls(pending)
        pending = None
        if role == "assistant":
            pending = {"role": "assistant", "content": text}
        else:
            yield {"role": role if role in ("system", "user") else "user", "content": text}
    if pending:
        yield _without_calls(pending)


def _without_calls(message: Message) -> Message:
    return {"role": message["role"], "content": message["content"] or "(no text)"}


def _smolagents_call(text: str, thought: str | None) -> Message:
    body = text.partition("\n")[2]
    try:
        call = ast.literal_eval(body)[0]
        return _call(call["id"], call["function"]["name"], call["function"]["arguments"], thought)
    except (ValueError, SyntaxError, KeyError, IndexError, TypeError):
        found_id, found_name = _CALL_ID.search(text), _CALL_NAME.search(text)
        call_id = found_id.group(1) if found_id else "call_unreadable"
        name = found_name.group(1) if found_name else "unreadable"
        return _call(call_id, name, {"text": body}, thought)


def _response_text(text: str) -> str:
    """The result itself. The word "Error" stays: it is how the run marked a failure."""
    head = _RESPONSE_HEAD.match(text)
    if not head:
        return text
    body = text[head.end() :]
    return f"Error: {body}" if head.group(2) == "Error" else body


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))
