"""Files of other memories, read as what ``add_memory`` and ``add_interaction`` take.

``waypost``   JSON lines: what export writes, or the fields of a memory or interaction
``messages``  chat messages with role and content, or conversations of them
``mem0``      what mem0's ``get_all`` answers, or its export
``zep``       facts of Zep or edges of Graphiti, with the time they held
``letta``     archival passages of Letta

A file is one JSON document (a list, or an object that holds one) or one object per line.
What has no field here goes into the metadata, so nothing that was kept is lost on the way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from waypost.exceptions import InvalidInput

Entry = tuple[int, dict[str, Any]]
"""Where it stands in the file (a line, or its number in a list), and what to remember."""


class Format(StrEnum):
    WAYPOST = "waypost"
    MESSAGES = "messages"
    MEM0 = "mem0"
    ZEP = "zep"
    LETTA = "letta"


ORIGINS = {"user": "user", "human": "user", "assistant": "agent", "ai": "agent", "tool": "tool",
           "function": "tool", "system": "system", "developer": "system"}  # fmt: skip
LISTS = ("results", "memories", "messages", "facts", "edges", "passages", "data")


def entries(file: IO[str], format_: Format, name: str) -> Iterator[Entry]:
    """Every memory of a file of another program, in its order."""
    for number, value in _objects(file.read(), name):
        for one in READERS[format_](value, f"{Path(name).stem}-{number}"):
            yield number, one


def _objects(text: str, name: str) -> Iterator[tuple[int, Any]]:
    try:
        yield from enumerate(_listed(json.loads(text)), start=1)
    except ValueError:
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield number, _line(line, f"{name}:{number}")


def _line(line: str, place: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise InvalidInput(f"{place} is not JSON, and the file is no JSON document") from None


def _listed(document: Any) -> list[Any]:
    """The list that a document is or holds; a conversation stays whole."""
    if isinstance(document, dict) and "role" not in document:
        for name in LISTS:
            if isinstance(document.get(name), list):
                return [document] if name == "messages" else list(document[name])
    return document if isinstance(document, list) else [document]


def _message(value: Any, place: str) -> Iterator[dict[str, Any]]:
    """One message, or each message of a conversation as one run."""
    conversation = _object(value)
    run = conversation.get("conversation_id") or conversation.get("session_id")
    listed = conversation.get("messages")
    if listed is None:
        listed = [conversation]
    else:
        run = run or conversation.get("id") or place
    for message in listed:
        given = _object(message)
        if text := _text(given.get("content")):
            yield _memory(
                given, {"role", "content", "name"}, text,
                kind="message", type="episodic", run_id=run,
                source=given.get("name") or given.get("role"),
                origin=ORIGINS.get(str(given.get("role")), "import"),
            )  # fmt: skip


def _mem0(value: Any, _: str) -> Iterator[dict[str, Any]]:
    given = _object(value)
    yield _memory(
        given, {"memory", "categories", "run_id", "hash"}, given.get("memory"),
        tags=tuple(given.get("categories") or ()), run_id=given.get("run_id"),
    )  # fmt: skip


def _zep(value: Any, _: str) -> Iterator[dict[str, Any]]:
    given = _object(value)
    yield _memory(
        given, {"fact", "valid_at", "invalid_at"}, given.get("fact"), kind="fact",
        type="semantic", valid_from=given.get("valid_at"), valid_to=given.get("invalid_at"),
    )  # fmt: skip


def _letta(value: Any, _: str) -> Iterator[dict[str, Any]]:
    given = _object(value)
    tags = tuple(given.get("tags") or ())
    yield _memory(given, {"text", "tags", "embedding"}, given.get("text"), tags=tags)


READERS: dict[Format, Callable[[Any, str], Iterator[dict[str, Any]]]] = {
    Format.MESSAGES: _message,
    Format.MEM0: _mem0,
    Format.ZEP: _zep,
    Format.LETTA: _letta,
}


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput("each entry is a JSON object; this one is not")
    return value


def _text(content: Any) -> str:
    """The text of a message, whose content may come in parts."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "\n".join(str(part) for part in parts if part)
    return str(content or "").strip()


def _memory(given: Mapping[str, Any], used: set[str], text: Any, **fields: Any) -> dict[str, Any]:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"an entry has no text; its fields are {', '.join(sorted(given))}")
    when = ("timestamp", "created_at", "metadata")
    rest = {name: value for name, value in given.items() if name not in {*used, *when}}
    metadata = {**(given.get("metadata") or {}), **{n: v for n, v in rest.items() if v is not None}}
    values = {
        "content": text,
        "timestamp": _time(given.get("timestamp") or given.get("created_at")),
        "origin": "import",
        "metadata": metadata,
        **fields,
    }
    return {name: value for name, value in values.items() if value is not None}


def _time(value: Any) -> Any:
    """Times of other programs often lack a zone; theirs are UTC."""
    if isinstance(value, str) and "T" in value and not value.endswith("Z"):
        return value if "+" in value or "-" in value.partition("T")[2] else value + "Z"
    return value
