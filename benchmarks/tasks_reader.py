"""The part of the model in ``tasks``: a reader that knows nothing but its prompt.

It understands the sentences in which facts are stated and asked for, as a model would, and no more.
A fact it needs is looked for in the prompt; of several statements the latest dated one counts, and
what was remembered counts before what a note says. What is missing is recalled, if there is a tool
for it, and then searched for in the notes, a step at a time; what is not there is left open. It
carries what it has found in its own words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.tasks_world import ASKED, STATED
from waypost.testing import Reply

Messages = Sequence[Mapping[str, Any]]

_TASK = re.compile(r"Write the [\w -]+ of ([a-z]+-[a-z]+)\. Say ([^\n]+)\.")
_DATED = re.compile(r"^@ (\d{4}-\d\d-\d\d)", re.MULTILINE)
_RECALLED = re.compile(r"^- (.+?) \((\d{4}-\d\d-\d\d), \w+\)$", re.MULTILINE | re.DOTALL)
_FOUND = re.compile(r"\[(\w+): ([^\]]+)\]")
_PATH = re.compile(r"notes/\d\d\.md")
_MOST_NOTES = 9


def reply(body: Mapping[str, Any]) -> Reply:
    """One answer of the model."""
    messages: Messages = body["messages"]
    goal = str(messages[1]["content"]).split("\n\n")[0]
    task = _TASK.search(goal)
    if task is None:
        return "Noted."
    service, asked = task.groups()
    wanted = [name for name, phrases in ASKED.items() if any(p in asked for p in phrases)]
    known = _known(messages, service)
    missing = [name for name in wanted if name not in known]
    found = " ".join(f"[{name}: {known[name]}]" for name in wanted if name in known)
    if not missing:
        return _answer(service, {name: known[name] for name in wanted})
    offered = {one["function"]["name"] for one in body.get("tools", ())}
    step = _next_step(messages, service, missing, offered)
    if step is None:
        return _answer(service, {name: known.get(name, "not known") for name in wanted})
    return _call(f"{found} I look for {', '.join(missing)}.", *step)


def _known(messages: Messages, service: str) -> dict[str, str]:
    """Values of the service's attributes: from the notes, then from memory, the latest last."""
    known: dict[str, str] = {}
    for message in messages[2:]:
        if message["role"] == "tool":
            known |= _read(str(message["content"]), service)
    for message in messages[2:]:
        if message["role"] == "assistant":
            known |= dict(_FOUND.findall(str(message["content"] or "")))
    for _, text in sorted(_remembered(messages), key=lambda pair: pair[0]):
        known |= _read(text, service)
    return known


def _remembered(messages: Messages) -> list[tuple[str, str]]:
    """What the memory gave, with dates: as context of the goal, and when asked to recall."""
    parts = _DATED.split(str(messages[1]["content"]))
    given = list(zip(parts[1::2], parts[2::2], strict=True))
    answers = "\n".join(str(m["content"]) for m in messages[2:] if m["role"] == "tool")
    return given + [(date, text) for text, date in _RECALLED.findall(answers)]


def _read(text: str, service: str) -> dict[str, str]:
    """The last statement of each attribute in a text."""
    found: dict[str, tuple[int, str]] = {}
    for name, templates in STATED.items():
        for template in templates:
            pattern = re.escape(template).replace(r"\{s\}", re.escape(service))
            pattern = pattern.replace(r"\{v\}", r"([\w/: ]+?)") + r"(?=[.;,\n]|$)"
            for match in re.finditer(pattern, text, re.IGNORECASE):
                if match.start() >= found.get(name, (0, ""))[0]:
                    found[name] = (match.start(), match.group(1))
    return {name: value for name, (_, value) in found.items()}


def _next_step(
    messages: Messages, service: str, missing: list[str], offered: set[str]
) -> tuple[str, dict[str, str]] | None:
    """Recall, search, read the notes that were found, then give up."""
    done = _done(messages)
    if "recall" in offered and "recall" not in done:
        return "recall", {"query": f"{service}: {', '.join(ASKED[name][-1] for name in missing)}"}
    if "search_notes" not in done:
        return "search_notes", {"words": service}
    listed = dict.fromkeys(_PATH.findall(_lists(messages)))
    read = set(re.findall(r"path\W+(notes/\d\d\.md)", done))
    unread = [path for path in listed if path not in read]
    return ("read_note", {"path": unread[0]}) if unread and len(read) < _MOST_NOTES else None


def _done(messages: Messages) -> str:
    """The calls made so far, those of folded steps included."""
    return "\n".join(
        str(m["content"]) if _is_record(m) else json.dumps(m.get("tool_calls") or "")
        for m in messages[2:]
    )


def _lists(messages: Messages) -> str:
    """What the search found: a result that begins with a path, or a record of one."""
    texts = [str(m["content"]) for m in messages[2:] if m["role"] == "tool" or _is_record(m)]
    return "\n".join(text for text in texts if _PATH.match(text) or text.startswith("(Earlier"))


def _is_record(message: Mapping[str, Any]) -> bool:
    return message["role"] == "user" and str(message["content"]).startswith("(Earlier steps")


def _answer(service: str, values: dict[str, str]) -> str:
    said = [STATED[name][0].format(s=service, v=value) for name, value in values.items()]
    return ". ".join(text[0].upper() + text[1:] for text in said) + "."


def _call(thought: str, name: str, arguments: dict[str, str]) -> Reply:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{name}", "type": "function", "function": function}
    return {"role": "assistant", "content": thought.strip(), "tool_calls": [call]}
