"""Statements said again in other words: which units keep each other's statements.

A unit keeps a statement when it has most of its content words, all its values and the same
polarity: the rule of the retention measure. Found through each statement's rarest words (a unit
that lacks all of them cannot have enough), so the cost stays linear in the text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from waypost.stages.compress.facts import TypedFact, as_statement
from waypost.stages.compress.sources import from_text
from waypost.stages.compress.units import split

STATEMENT_SHARE = 0.7
_MOST_UNITS = 200


@dataclass(frozen=True, slots=True)
class Said:
    """One unit that states something: its content forms and whether they are negated."""

    unit: int
    forms: frozenset[str]
    negated: bool


def keepers(facts: Sequence[TypedFact], said: Sequence[Said]) -> Iterator[tuple[int, int]]:
    """Pairs of a fact's place and a unit that keeps it."""
    holding: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(said):
        for form in one.forms:
            holding[form].append(place)
    for number, fact in enumerate(facts):
        for place in _candidates(fact, holding):
            if keeps(said[place].forms, said[place].negated, fact):
                yield number, said[place].unit


def keeps(forms: frozenset[str], negated: bool, fact: TypedFact) -> bool:
    """Whether a line with these forms says what a statement says."""
    wanted = set(fact.forms)
    return (
        negated is fact.negated
        and fact.values <= forms
        and len(wanted & forms) >= STATEMENT_SHARE * len(wanted)
    )


def repeats(text: str) -> Callable[[str], bool]:
    """A test whether a line only says again what some sentence of ``text`` says."""
    said = [as_statement(unit.text) for unit in split(from_text(text), 0)]
    sentences = [(frozenset(fact.forms), fact.negated) for fact in said]

    def says_nothing_new(line: str) -> bool:
        fact = as_statement(line)
        return bool(fact.forms) and any(keeps(*sentence, fact) for sentence in sentences)

    return says_nothing_new


def _candidates(fact: TypedFact, holding: dict[str, list[int]]) -> list[int]:
    wanted = set(fact.forms)
    missing = len(wanted) - ceil(STATEMENT_SHARE * len(wanted))
    rarest = sorted(wanted, key=lambda form: (len(holding[form]), form))[: missing + 1]
    found = Counter(place for form in rarest for place in holding[form][:_MOST_UNITS])
    return sorted(found)
