"""Patterns that are looked for only where they can be: in texts that have one of their words.

Most texts hold none of the words that an importance or a kind is read from. Asking a set
of words first is many times quicker than running every pattern over every text, and the
answer is the same as long as each alternative of a pattern needs one of the words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_WORD = re.compile(r"\w+")


@lru_cache(maxsize=4)
def words_of(text: str) -> frozenset[str]:
    """The words of a text in lower case; remembered, since several readers ask in a row."""
    return frozenset(_WORD.findall(text.lower()))


@dataclass(frozen=True, slots=True)
class Cue:
    """A pattern, and the whole words one of which every match contains."""

    pattern: re.Pattern[str]
    words: frozenset[str]

    def is_in(self, text: str) -> bool:
        return not self.words.isdisjoint(words_of(text)) and bool(self.pattern.search(text))


def cue(words: str, pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> Cue:
    return Cue(re.compile(pattern, flags), frozenset(words.split()))
