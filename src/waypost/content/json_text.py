"""JSON of any depth and size: loading that refuses instead of crashing, outlines, paths."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from waypost.exceptions import InvalidInput

MAX_LOADED = 16_000_000
_MISSING = object()
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\*|-?\d+|\"[^\"]*\"|'[^']*')\]")
_MOST_VALUES = 10_000


def load_json(text: str) -> Any:
    """Read JSON, or one value per line; None when it is not JSON, too deep or too large."""
    if len(text) > MAX_LOADED or not text.lstrip()[:1]:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _load_lines(text)


def _load_lines(text: str) -> Any:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or lines[0].lstrip()[:1] not in "[{":
        return None
    try:
        return [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        return None


def select(value: Any, path: str) -> list[tuple[str, Any]]:
    """All places of ``value`` that a path such as ``items[*].name`` or ``a.b[0]`` names."""
    found = [("$", value)]
    for step in parse_path(path):
        found = [place for name, inner in found for place in _descend(name, inner, step)]
        if len(found) > _MOST_VALUES:
            raise InvalidInput(f"path {path!r} names more than {_MOST_VALUES:,} values; narrow it")
    return found


def parse_path(path: str) -> list[str | int]:
    """Split a path into keys, indexes and ``*``; a leading ``$`` is allowed."""
    rest = path.strip().removeprefix("$")
    steps: list[str | int] = []
    position = 0
    while position < len(rest):
        match = _STEP.match(rest, position)
        if not match:
            raise InvalidInput(
                f"cannot read the path {path!r} at {rest[position:][:20]!r}; "
                'write it like items[0].name, items[*].name or ["a key"].value'
            )
        steps.append(_step(match))
        position = match.end()
    return steps


def _step(match: re.Match[str]) -> str | int:
    key, index = match.groups()
    if key is not None:
        return str(key)
    if index[:1] in "\"'":
        return str(index[1:-1])
    return "*" if index == "*" else int(index)


def _descend(name: str, value: Any, step: str | int) -> Iterator[tuple[str, Any]]:
    if step == "*":
        entries = value.items() if isinstance(value, dict) else enumerate(_as_list(value))
        for key, inner in entries:
            yield _joined(name, key), inner
        return
    inner = _lookup(value, step)
    if inner is not _MISSING:
        yield _joined(name, step), inner


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _lookup(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(str(step), _MISSING)
    if isinstance(value, list) and str(step).lstrip("-").isdigit():
        index = int(step)
        return value[index] if -len(value) <= index < len(value) else _MISSING
    return _MISSING


def _joined(name: str, key: Any) -> str:
    return f"{name}[{key}]" if isinstance(key, int) else f"{name}.{key}"


def keys_at(value: Any, path: str) -> list[str]:
    """The keys available where a path stops matching; for a helpful message."""
    current = [value]
    for step in parse_path(path):
        following = [inner for place in current for _, inner in _descend("", place, step)]
        if not following:
            break
        current = following
    keys: dict[str, None] = {}
    for place in current[:50]:
        if isinstance(place, dict):
            keys.update(dict.fromkeys(list(place)[:50]))
    return list(keys)[:20]


def flatten(value: Any, limit: int = 2000) -> Iterator[tuple[str, Any]]:
    """All scalars with their paths, level by level, without recursion."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting and limit > 0:
        following: list[tuple[str, Any]] = []
        for name, inner in waiting:
            if isinstance(inner, dict):
                pairs = list(inner.items())[:200]
                following += [(f"{name}.{key}" if name else str(key), item) for key, item in pairs]
            elif isinstance(inner, list):
                following += [(f"{name}[{n}]", item) for n, item in enumerate(inner[:100])]
            else:
                yield name, inner
                limit -= 1
                if limit <= 0:
                    return
        waiting = following[:5000]
