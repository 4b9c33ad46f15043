"""The passages of a text that answer a question, found in one pass over a text of any size."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from waypost.encode.terms import analyze

_PASSAGE_CHARACTERS = 600
_CANDIDATES = 200
_LEAST_SHARE = 0.5
_WORD = re.compile(r"\w{2,40}")


@dataclass(frozen=True, order=True)
class Passage:
    """``line`` is where it begins, from 1. Ordered by place."""

    line: int
    text: str


def best_passages(question: str, lines: Iterable[str], count: int = 8) -> list[Passage]:
    """The passages that share the rarest words with the question, in rank order.

    At most ``count``, and none that weighs less than half of the best.
    """
    beginnings = _beginnings(question)
    frequency: Counter[str] = Counter()
    heap: list[tuple[int, int, Passage, frozenset[str]]] = []
    total = 0
    for passage in passages(lines):
        total += 1
        lowered = passage.text.lower()
        likely = [term for term, starts in beginnings.items() if _any_in(starts, lowered)]
        frequency.update(likely)
        # No passage shares more words than its likely ones: most need no closer look.
        if not likely or (len(heap) == _CANDIDATES and len(likely) <= heap[0][0]):
            continue
        shared = frozenset(beginnings.keys() & set(analyze(passage.text)))
        entry = (len(shared), -passage.line, passage, shared)
        if len(heap) < _CANDIDATES:
            heapq.heappush(heap, entry)
        elif entry[:2] > heap[0][:2]:
            heapq.heapreplace(heap, entry)
    return _ranked(heap, frequency, total)[:count]


def _beginnings(question: str) -> dict[str, tuple[str, ...]]:
    """The question's terms, each with the letters that a text holding it must contain."""
    found: dict[str, tuple[str, ...]] = {}
    for word in _WORD.findall(question):
        for term in analyze(word):
            found[term] = (term[:4].lower(), word[:3].lower())
    return found


def _any_in(starts: tuple[str, ...], text: str) -> bool:
    return any(start in text for start in starts)


def passages(lines: Iterable[str]) -> Iterator[Passage]:
    """Paragraphs, cut where they grow long."""
    held: list[str] = []
    first, size = 1, 0
    for number, line in enumerate(lines, 1):
        if held and (not line.strip() or size + len(line) > _PASSAGE_CHARACTERS):
            yield Passage(first, "\n".join(held))
            held, size = [], 0
        if not line.strip():
            continue
        for start in range(0, len(line), _PASSAGE_CHARACTERS * 2):
            part = line[start : start + _PASSAGE_CHARACTERS * 2]
            if held and size + len(part) > _PASSAGE_CHARACTERS:
                yield Passage(first, "\n".join(held))
                held, size = [], 0
            first = number if not held else first
            held.append(part)
            size += len(part)
    if held:
        yield Passage(first, "\n".join(held))


def _ranked(
    heap: list[tuple[int, int, Passage, frozenset[str]]], frequency: Counter[str], total: int
) -> list[Passage]:
    def weight(shared: frozenset[str]) -> float:
        return sum(math.log(1 + total / max(frequency[term], 1)) for term in sorted(shared))

    scored = [(weight(shared), passage) for _, _, passage, shared in heap if shared]
    scored.sort(key=lambda pair: (-pair[0], pair[1].line))
    return [passage for score, passage in scored if score >= _LEAST_SHARE * scored[0][0]]
