"""Turn text into index terms: the words by which a memory can be found.

``analyze`` is pure and deterministic: the same text gives the same terms on every
machine. Words and numbers of every script are lower-cased, freed of accents and
stemmed when Latin; identifiers (``snake_case``, ``CamelCase``, paths, versions,
ids) are kept whole and in parts; scripts that write without spaces become pairs
of characters. Stop words are left out. Each distinct word is worked out once and
remembered, so a turn of forty words costs a few dictionary look-ups.

Used by the index below the write path and by every query; nothing here knows
about storage or ranking.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

MAX_TERM_CHARACTERS = 64
_MAX_REMEMBERED_WORDS = 200_000

# Vowel signs and other marks are not alphanumeric to ``\w``, yet belong to the word.
_MARKS = "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963"
_MARKS += "\u0966-\u109f\u1780-\u17d3"
_WORD = re.compile(rf"[\w{_MARKS}]+(?:[./:@\\'’,#+-]+[\w{_MARKS}]+)*")
_PART = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
_CASE_EDGE = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003134f]+"
)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_PLAIN_COMPOUND = re.compile(r"[^\W\d_]+(?:[-'’,+][^\W\d_]+)+")
_GROUPED_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+")

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any anyone anything are as at be because been before
    being but by ca can could did do does doing done each else ever every for from further get gets
    getting give given go going gonna got had has have having he her here hers herself hey hi him
    himself his how however i if in into is it its itself just know let like ll many maybe me mine
    more most much must my myself no nor not now of off oh ok okay on once one only onto or other
    our ours out over own per please re really s said same say says sha shall she should so some
    something such sure t than that the their theirs them themselves then there these they thing
    things this those though through to too under until up upon us ve very want was we well were
    what whatever when where whether which while who whom whose why will with within without wo
    would yeah yes yet you your yours yourself d m
    """.split()  # noqa: SIM905  (a list of literals would fill three screens)
)
_NEGATIONS = frozenset(
    "ai are ca could did do does had has have is must need sha should was were wo would".split()  # noqa: SIM905
)

# Not strftime: its names of months depend on the locale of the process.
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip

QUESTION = "?"
"""Stands after the terms of a text that asks something; no word is analysed to it."""

_stemming = threading.Lock()


def analyze(text: str) -> list[str]:
    """The index terms of a text in their order, repeats included."""
    return list(chain.from_iterable(map(_terms.__getitem__, _WORD.findall(text))))


def indexed_text(content: str, source: str | None = None, timestamp: datetime | None = None) -> str:
    """The text that is indexed and embedded for a memory: when, from whom, what."""
    day = ""
    if timestamp is not None:
        day = f"({timestamp.day} {_MONTHS[timestamp.month - 1]} {timestamp.year:04}) "
    return f"{day}{source}: {content}" if source else f"{day}{content}"


def asks(text: str) -> bool:
    """Whether a text ends with a question, or nearly so."""
    return any(mark in text[-200:] for mark in "?？؟")


class _Terms(dict[str, tuple[str, ...]]):
    """From a word to its terms, worked out when first asked for; starts over when full."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= _MAX_REMEMBERED_WORDS:
            self.clear()
        terms = self[word] = tuple(_terms_of_word(word))
        return terms


_terms = _Terms()


def _terms_of_word(word: str) -> list[str]:
    word = unicodedata.normalize("NFKC", word)
    if _GROUPED_NUMBER.fullmatch(word):
        return [word.replace(",", "")]
    pieces = [
        p for whole in _PART.findall(_without_contraction(word)) for p in _CASE_EDGE.split(whole)
    ]
    terms = [term for piece in pieces for term in _terms_of_piece(piece)]
    if len(pieces) > 1 and not _PLAIN_COMPOUND.fullmatch(word):
        terms.insert(0, _folded(word)[:MAX_TERM_CHARACTERS])
    return terms


def _without_contraction(word: str) -> str:
    """Cut ``'s``, ``n't`` and the like, so that "Anna's" finds "Anna"."""
    head, mark, tail = word.replace("’", "'").rpartition("'")
    if not mark or tail.lower() not in {"s", "t", "m", "re", "ve", "ll", "d"}:
        return word
    if tail.lower() == "t" and head[:-1].lower() in _NEGATIONS:
        return head[:-1]
    return head


def _terms_of_piece(piece: str) -> list[str]:
    terms: list[str] = []
    for run in _UNSPACED.findall(piece):
        terms += [run[i : i + 2] for i in range(max(1, len(run) - 1))]
    rest = _UNSPACED.sub(" ", piece) if terms else piece
    words = (_folded(part) for part in rest.split())
    return terms + [_stem(word)[:MAX_TERM_CHARACTERS] for word in words if word not in STOP_WORDS]


def _folded(word: str) -> str:
    word = word.lower()
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", word)))


def _stem(word: str) -> str:
    if not word.isascii() or not word.isalpha():
        return word
    with _stemming:
        return _stemmer().stemWord(word)


class _WordStemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802  (the name PyStemmer gives it)


@cache
def _stemmer() -> _WordStemmer:
    from Stemmer import Stemmer  # type: ignore[import-not-found]

    stemmer: _WordStemmer = Stemmer("english")
    return stemmer
