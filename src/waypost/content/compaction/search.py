"""Search results: the query, and title and address of each hit, since that is what is opened."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from waypost.content.compaction.base import Compacted, clip
from waypost.content.json_text import load_json
from waypost.content.material import Material

_ADDRESS_KEYS = ("url", "link", "href", "address")
_TITLE_KEYS = ("title", "name", "heading")
_SNIPPET_KEYS = ("snippet", "description", "summary", "text", "content", "body")
_LIST_KEYS = ("results", "organic_results", "organic", "items", "hits", "web", "value", "data")
_MARKDOWN_HIT = re.compile(
    r"^\s*(?:\d+[.)]|[-*])?\s*\[([^\]\n]{2,200})\]\((https?://[^)\s]{4,400})\)"
)
_QUERY = re.compile(
    r"(?:search(?:ed)?(?: results)?|query|results) (?:for )?[:\"'`“]{1,3}([^\"'`”\n]{2,200})", re.I
)
_MANY_HITS = 12


@dataclass(frozen=True)
class Hit:
    title: str
    address: str
    snippet: str = ""


class SearchResultsCompactor:
    name = "search results"

    def confidence(self, material: Material) -> float:
        hits = find_hits(material)
        if len(hits) < 2:
            return 0.0
        return 0.9 if "search" in material.source.lower() else 0.87

    def compact(self, material: Material) -> Compacted:
        hits = find_hits(material)
        query = _QUERY.search(material.head[:600])
        title = f"for {clip(query.group(1), 80)!r}" if query else None
        lines = [
            f"{n}. {clip(h.title, 90)} {h.address}" for n, h in enumerate(hits[:_MANY_HITS], 1)
        ]
        lines += [f"{n}: {clip(h.snippet, 120)}" for n, h in enumerate(hits[:3], 1) if h.snippet]
        return Compacted(f"{len(hits)} search results", tuple(lines), "titles and addresses", title)


def find_hits(material: Material) -> list[Hit]:
    """The hits of a JSON answer or of a list of markdown links; empty when there are none."""
    text = material.head.lstrip()
    if text[:1] in "[{" and text:
        return _json_hits(load_json(material.head) if material.whole else None)
    return _markdown_hits(material.head)


def _json_hits(value: Any) -> list[Hit]:
    entries = value
    if isinstance(value, dict):
        lists = (value.get(key) for key in _LIST_KEYS)
        entries = next((found for found in lists if isinstance(found, list)), None)
    if not isinstance(entries, list):
        return []
    hits = [_json_hit(entry) for entry in entries[:200] if isinstance(entry, dict)]
    found = [hit for hit in hits if hit]
    return found if len(found) * 2 > len(entries[:200]) else []


def _json_hit(entry: dict[str, Any]) -> Hit | None:
    address = _first_text(entry, _ADDRESS_KEYS)
    title = _first_text(entry, _TITLE_KEYS)
    if not title or "/" not in address:
        return None
    return Hit(title, address, _first_text(entry, _SNIPPET_KEYS))


def _first_text(entry: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((str(entry[key]) for key in keys if isinstance(entry.get(key), str)), "")


def _markdown_hits(text: str) -> list[Hit]:
    """Links that start a line, each with the line below it as its snippet."""
    lines = text.split("\n", 3000)
    hits = []
    for number, line in enumerate(lines[:3000]):
        match = _MARKDOWN_HIT.match(line[:700])
        if match:
            below = next((part for part in lines[number + 1 : number + 4] if part.strip()), "")
            snippet = "" if _MARKDOWN_HIT.match(below[:700]) else below
            hits.append(Hit(match.group(1), match.group(2), snippet))
    return hits
