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
_WORD = re.compile(r"\w{2,40}")


@dataclass(frozen=True, order=True)
class Passage:
    """``line`` is where it begins, from 1. Ordered by place."""

    line: int
    text: str


def best_passages(question: str, lines: Iterable[str], count: int = 8) -> list[Passage]:
    """The ``count`` passages that share the rarest words with the question, in reading order."""
    wanted = set(analyze(question))
    if not wanted:
        return []
    # A cheap test first: a stem and its word share their first letters.
    stems = tuple({term[:4].lower() for term in wanted})
    frequency: Counter[str] = Counter()
    heap: list[tuple[int, int, Passage, frozenset[str]]] = []
    total = 0
    for passage in passages(lines):
        total += 1
        lowered = passage.text.lower()
        if not any(stem in lowered for stem in stems):
            continue
        shared = frozenset(wanted.intersection(analyze(passage.text)))
        frequency.update(shared)
        entry = (len(shared), -passage.line, passage, shared)
        if len(heap) < _CANDIDATES:
            heapq.heappush(heap, entry)
        elif entry > heap[0]:
            heapq.heapreplace(heap, entry)
    return _ranked(heap, frequency, total)[:count]


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
        return sum(math.log(1 + total / frequency[term]) for term in sorted(shared))

    scored = [(weight(shared), passage) for _, _, passage, shared in heap if shared]
    scored.sort(key=lambda pair: (-pair[0], pair[1].line))
    return [passage for _, passage in scored]
