"""JSON: its shape, then the scalar values from the outside in, ids and short values first."""

from __future__ import annotations

import json
import re
from typing import Any

from waypost.content.compaction.base import Compacted, clip, media_is
from waypost.content.json_text import flatten, load_json
from waypost.content.material import Material

_KEY = re.compile(r"\"([^\"\\]{1,60})\"\s*:")
_SHORT = 40


class JsonCompactor:
    name = "json"

    def confidence(self, material: Material) -> float:
        if media_is(material, "application/json", "json", "application/x-ndjson"):
            return 0.85
        start = material.head.lstrip()[:1]
        if not start or start not in "[{":
            return 0.0
        if material.whole:
            return 0.8 if load_json(material.head) is not None else 0.0
        return 0.6 if _KEY.search(material.head[:2000]) else 0.0

    def compact(self, material: Material) -> Compacted:
        value = load_json(material.head) if material.whole else None
        if value is None:
            return _unread(material)
        groups = group_scalars(value)
        return Compacted(f"JSON {shape(value)}", tuple(groups), "outer values")


def shape(value: Any) -> str:
    """ "object with keys a, b" or "list of 12"."""
    if isinstance(value, dict):
        return f"object of {len(value)} keys"
    if isinstance(value, list):
        return f"list of {len(value)}"
    return type(value).__name__


def group_scalars(value: Any) -> list[str]:
    """Values under the same parent on one line, so that paths are not repeated."""
    groups: dict[str, list[str]] = {}
    for path, scalar in flatten(value, 1500):
        parent, _, key = path.rpartition(".")
        text = scalar if isinstance(scalar, str) else json.dumps(scalar)
        if text not in ("", "null"):
            groups.setdefault(parent, []).append(
                f"{key or path}={clip(text, _value_limit(parent))}"
            )
    return [
        clip((f"{parent}: " if parent else "") + ", ".join(entries), 400)
        for parent, entries in groups.items()
    ]


def _value_limit(parent: str) -> int:
    return 160 if not parent else _SHORT * 2


def _unread(material: Material) -> Compacted:
    """Too large, too deep or broken: the keys of the beginning, and its first characters."""
    keys = list(dict.fromkeys(_KEY.findall(material.head[:50_000])))[:25]
    lines = [f"Keys: {', '.join(keys)}"] if keys else []
    lines.append(clip(material.head[:2000]))
    return Compacted(
        "JSON that is too large, deep or broken to read whole", tuple(lines), "keys and beginning"
    )
