"""The part of a long text that answers a question, when the whole does not fit.

Sentences and lines are scored by the rare words they share with the query; the
best are kept in their own order, with an ellipsis where something is missing.
Pure and deterministic; it never writes a word that is not in the text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable

_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w+")
_GAP = " … "
_LONGEST_UNIT = 400
_TOO_LITTLE = 4


def excerpt(text: str, query: str, limit: int, count: Callable[[str], int]) -> str | None:
    """The best sentences for ``query`` in at most ``limit`` tokens; None if none fits."""
    units = _units(text)
    if len(units) < 2:
        return None
    chosen: set[int] = set()
    spent = 0
    for place in _by_worth(units, query):
        if limit - spent < _TOO_LITTLE:
            break
        cost = count(units[place]) + count(_GAP)
        if spent + cost <= limit:
            chosen.add(place)
            spent += cost
    return _joined(units, chosen) if chosen else None


def first_lines(text: str, limit: int, count: Callable[[str], int]) -> str:
    """As many whole lines from the beginning as have at most ``limit`` tokens."""
    kept: list[str] = []
    for line in text.splitlines():
        limit -= count(line) + 1
        if limit < 0:
            return "\n".join([*kept, "…"]) if kept else ""
        kept.append(line)
    return "\n".join(kept)


def _units(text: str) -> list[str]:
    parts = (part.strip() for part in _BREAK.split(text))
    return [piece for part in parts if part for piece in _pieces(part)]


def _pieces(part: str) -> list[str]:
    """Cut what has no sentences (a table row, minified code) into lengths at spaces."""
    pieces = []
    while len(part) > _LONGEST_UNIT:
        cut = part.rfind(" ", 1, _LONGEST_UNIT)
        cut = cut if cut > 0 else _LONGEST_UNIT
        pieces.append(part[:cut].strip())
        part = part[cut:].strip()
    return [*pieces, part] if part else pieces


def _by_worth(units: list[str], query: str) -> list[int]:
    """Places of the units, most useful first; neighbours of a good unit gain a little."""
    words = [_stems(unit) for unit in units]
    frequency = Counter(word for unit in words for word in unit)
    wanted = _stems(query)
    direct = [
        sum(math.log(1 + len(units) / frequency[word]) for word in sorted(unit & wanted))
        for unit in words
    ]
    padded = [0.0, *direct, 0.0]
    worth = [
        direct[i] + 0.4 * max(padded[i], padded[i + 2]) + (0.05 if i == 0 else 0.0)
        for i in range(len(units))
    ]
    return sorted(range(len(units)), key=lambda i: (-round(worth[i], 9), i))


def _stems(text: str) -> set[str]:
    """Words cut to their first six letters: a rough stem that needs no language."""
    return {word[:6] for word in _WORD.findall(text.lower()) if len(word) > 2}


def _joined(units: list[str], chosen: set[int]) -> str:
    text, last = "", -1
    for place in sorted(chosen):
        gap = _GAP if place != last + 1 else (" " if text else "")
        text += gap.lstrip() if not text else gap
        text += units[place]
        last = place
    return text if last == len(units) - 1 else text + " …"
