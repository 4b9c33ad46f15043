"""Measures of a ranking against what was relevant, averaged over questions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from statistics import fmean

MEASURES = ("recall@5", "recall@10", "recall@20", "hit@5", "ndcg@10", "mrr")


def measure(ranking: Sequence[str], relevant: Collection[str]) -> dict[str, float]:
    """All measures of one ranking, from 0 to 1."""
    found = [place for place, item in enumerate(ranking) if item in relevant]
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
    return {
        "recall@5": sum(place < 5 for place in found) / len(relevant),
        "recall@10": sum(place < 10 for place in found) / len(relevant),
        "recall@20": sum(place < 20 for place in found) / len(relevant),
        "hit@5": float(any(place < 5 for place in found)),
        "ndcg@10": sum(1 / math.log2(place + 2) for place in found if place < 10) / ideal,
        "mrr": 1 / (found[0] + 1) if found else 0.0,
    }


class Tally:
    """Collects measures per question and gives their means per category and overall."""

    def __init__(self) -> None:
        self._by_category: dict[str, list[dict[str, float]]] = defaultdict(list)

    def add(self, category: str, ranking: Sequence[str], relevant: Collection[str]) -> None:
        if relevant:
            self._by_category[category].append(measure(ranking, relevant))

    @property
    def categories(self) -> list[str]:
        return sorted(self._by_category)

    def mean(self, *, only: str | None = None, without: str | None = None) -> dict[str, float]:
        """Mean of each measure in per cent, over one category or over all but one."""
        picked = [
            result
            for category, results in self._by_category.items()
            if (only is None or category == only) and category != without
            for result in results
        ]
        if not picked:
            return {}
        return {name: round(100 * fmean(result[name] for result in picked), 2) for name in MEASURES}
