"""What the plain methods find in the same data: cosine, BM25, and both fused by rank.

Written apart from the library's ranking, so that it is a yardstick and not an echo.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from waypost.encode.terms import analyze

BASELINES = ("dense", "full_text", "rank_fusion")


class Baselines:
    """The three rankings over one store."""

    def __init__(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self._vectors = vectors
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths = np.zeros(len(texts))
        for number, text in enumerate(texts):
            terms = analyze(text)
            self._lengths[number] = len(terms)
            for term, count in Counter(terms).items():
                self._postings[term].append((number, count))

    def rank(self, question: str, vector: NDArray[np.float32]) -> dict[str, list[int]]:
        """Text numbers, best first, by the name of the baseline."""
        dense = np.argsort(-(self._vectors @ vector), kind="stable")
        words = self._by_words(question)
        fused = np.zeros(len(self._lengths))
        for order in (dense, words):
            fused[order] += 1 / (60 + np.arange(1, len(order) + 1))
        both = np.argsort(-fused, kind="stable")
        rankings = zip(BASELINES, (dense, words, both), strict=True)
        return {name: order.tolist() for name, order in rankings}

    def _by_words(self, question: str) -> NDArray[np.int64]:
        scores, total = np.zeros(len(self._lengths)), len(self._lengths)
        average = self._lengths.mean()
        for term in dict.fromkeys(analyze(question)):
            held = self._postings.get(term, [])
            idf = math.log1p((total - len(held) + 0.5) / (len(held) + 0.5))
            for number, count in held:
                norm = 1.2 * (0.25 + 0.75 * self._lengths[number] / average)
                scores[number] += idf * 2.2 * count / (count + norm)
        order = np.argsort(-scores, kind="stable")
        return order[scores[order] > 0]
