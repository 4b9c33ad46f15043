"""Sentences, and the few of them that stand for the whole text.

The summary is extractive: it never says what the text does not. What is rare is worth more than
what is central, so numbers, names, decisions and outcomes decide.
"""

from __future__ import annotations

import re

MAX_SUMMARY_WORDS = 30
_MAX_SUMMARY_CHARACTERS = 240
_MAX_SENTENCES = 60

_BREAK = re.compile(
    r"(?<=[.!?])(?<![DMS]r\.)(?<!Mrs\.)(?<!Ms\.)(?<!St\.)(?<!vs\.)(?<!e\.g\.)(?<!i\.e\.)"
    r"[\"')\]]?\s+(?=[\"'(\[]?[A-Z0-9À-Ý])|\s*\n\s*"
)
# Each hit makes a sentence more telling: a number, a name inside the sentence, an outcome.
_SIGNAL = re.compile(
    r"\d|(?<=[a-z,] )[A-Z]|\b(?:decid|chose|must|never|always|fail|error|fix|because|result|changed"
    r"|moved|switch|deadline|budget|instead|agreed|solved|work(?:s|ed)\b|prefer|now\b)"
)
_FILLER = re.compile(
    r"^(?:hi|hey|hello|thanks|thank you|sure|ok|okay|great|wow|yes|no|certainly|of course"
    r"|absolutely|sorry)\b",
    re.IGNORECASE,
)


def split_sentences(text: str) -> list[str]:
    """Split running text into sentences and lines, blank ones left out."""
    return [part for part in _BREAK.split(text) if part and not part.isspace()]


def summarize(text: str, sentences: list[str]) -> str:
    """Say a text in at most about thirty of its own words."""
    words = text[: 2 * _MAX_SUMMARY_CHARACTERS].split()
    if len(words) <= MAX_SUMMARY_WORDS and len(text) <= _MAX_SUMMARY_CHARACTERS:
        return " ".join(words)
    if not sentences:
        return _shorten(words)
    return _shorten(" ".join(_most_telling(sentences[:_MAX_SENTENCES])).split())


def _most_telling(sentences: list[str]) -> list[str]:
    """Choose the best sentence, then others while there is room, in the order of the text."""
    weights = [_weight(sentence, index) for index, sentence in enumerate(sentences)]
    ranked = sorted(range(len(sentences)), key=weights.__getitem__, reverse=True)
    chosen, room = [ranked[0]], MAX_SUMMARY_WORDS - len(sentences[ranked[0]].split())
    for index in ranked[1:4]:
        size = len(sentences[index].split())
        if size <= room and weights[index] > 0:
            chosen.append(index)
            room -= size
    return [sentences[index] for index in sorted(chosen)]


def _weight(sentence: str, index: int) -> float:
    signals = min(len(_SIGNAL.findall(sentence[:300])), 6)
    weight = signals + (1.0 if index == 0 else 0.0) - (2.0 if len(sentence) > 300 else 0.0)
    if sentence.endswith("?"):
        weight -= 1.0
    if len(sentence) < 25 or _FILLER.match(sentence):
        weight -= 2.0
    return weight


def _shorten(words: list[str]) -> str:
    line = " ".join(words[:MAX_SUMMARY_WORDS])
    if len(words) <= MAX_SUMMARY_WORDS and len(line) <= _MAX_SUMMARY_CHARACTERS:
        return line
    return line[: _MAX_SUMMARY_CHARACTERS - 1].rstrip(" ,;:-") + "…"
