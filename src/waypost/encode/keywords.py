"""The most telling words of a text: often said, long, or a name; never a stop word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from waypost.encode.stop_words import STOP_WORDS

MAX_KEYWORDS = 8
_WORD = re.compile(r"[^\W\d_][\w+#-]{2,40}")


def find_keywords(text: str, entities: Sequence[str]) -> list[str]:
    """Return up to eight words or names, best first; equal ones in order of appearance."""
    counts: dict[str, int] = {}
    for word in _WORD.findall(text.lower()):
        if word not in STOP_WORDS:
            counts[word] = counts.get(word, 0) + 1
    weights = {word: count * (4 + min(len(word), 10)) for word, count in counts.items()}
    for entity in entities:
        _add_entity(weights, entity.lower())
    ranked = sorted(weights, key=weights.__getitem__, reverse=True)
    return ranked[:MAX_KEYWORDS]


def _add_entity(weights: dict[str, int], name: str) -> None:
    """Put a name in front, and let it stand for the words it is made of."""
    if len(name) > 60:
        return
    best = 18
    for part in name.split():
        best = max(best, weights.get(part, 0) + 4)
        if " " in name and weights.get(part, 0) <= 14:
            weights.pop(part, None)
    weights[name] = max(best, weights.get(name, 0))
