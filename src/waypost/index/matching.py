"""Scores of every row for the terms of one query: the whole-corpus half of the text routes.

Terms are taken rarest first, and the very common ones are left out once the postings
read exceed a budget: they weigh little and cost most. The result is dense, one number
per slot, so that neighbours and episodes are plain gathers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from waypost.index.postings import Postings
from waypost.index.ranking import head_shares, inverse_document_frequency, saturate
from waypost.index.rows import Floats, Slots

POSTINGS_BUDGET = 600_000


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 must know of all rows of an agent.

    ``frequencies`` says how many rows hold a term; None means to count the rows at hand.
    Entities count under ``entity_term(name)``.
    """

    rows: int
    average_length: float
    average_episode_length: float
    frequencies: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Term:
    """A query term found in the index."""

    postings: Postings
    idf: float


@dataclass(frozen=True, slots=True)
class TextMatch:
    """Per slot: BM25 of the row, BM25 of its head; and the terms that went into it."""

    row: Floats
    head: Floats
    terms: Sequence[Term]
    ideal: float


def weigh(words: Sequence[str], found: Sequence[Postings], statistics: Statistics) -> list[Term]:
    """Give each query term its idf; words that no row holds keep theirs for the ideal."""
    given = statistics.frequencies
    terms = []
    for word, postings in zip(words, found, strict=True):
        frequency = len(postings.rows) if given is None else given.get(word, 0)
        idf = inverse_document_frequency(max(statistics.rows, frequency), frequency)
        terms.append(Term(postings, idf))
    return terms


def match_text(
    terms: Sequence[Term], slots: int, lengths: NDArray[np.int32], statistics: Statistics
) -> TextMatch:
    row, head = np.zeros(slots, np.float32), np.zeros(slots, np.float32)
    shares = head_shares()
    used = _affordable(terms)
    for term in used:
        rows = term.postings.rows.astype(np.int64)
        counts = term.postings.counts.astype(np.float32)
        share = saturate(counts, lengths.take(rows).astype(np.float32), statistics.average_length)
        row[rows] += np.float32(term.idf) * share
        head[rows] += np.float32(term.idf) * shares.take(term.postings.heads)
    return TextMatch(row, head, used, sum(term.idf for term in terms))


def neighbour_scores(
    head: Floats, previous: Slots, following: Slots, shares: Sequence[float]
) -> Floats:
    """What the heads of the neighbours could lend to each slot at most.

    Cheap, to find rows worth a closer look; ``context_scores`` is exact. No two rows have
    the same neighbour on one side, so adding by index loses nothing but what nobody gets.
    """
    total = np.zeros_like(head)
    lenders = np.flatnonzero(head)
    lent = head[lenders]
    for pointers in (previous, following):
        place = lenders
        for share in shares:
            place = pointers.take(place, mode="clip")
            total[np.minimum(place, len(total) - 1)] += np.float32(share) * lent
    total[0] = 0
    return total


def context_scores(match: TextMatch, slots: Slots, near: Sequence[tuple[Slots, Floats]]) -> Floats:
    """What neighbours lend to each slot: the query terms of their heads that it lacks itself.

    ``near`` holds one neighbour for every slot, and the shares that they lend.
    """
    scores = np.zeros(len(slots), np.float32)
    marks, shares = np.zeros(len(match.row), np.float32), head_shares() + 1
    for term in match.terms:
        rows = term.postings.rows.astype(np.int64)
        marks[rows] = shares.take(term.postings.heads)
        lent = np.zeros(len(slots), np.float32)
        for neighbours, share in near:
            lent += share * np.maximum(marks.take(neighbours, mode="clip") - 1, 0)
        scores += np.float32(term.idf) * lent * (marks[slots] == 0)
        marks[rows] = 0
    return scores


def episode_scores(
    match: TextMatch,
    codes: NDArray[np.int32],
    wanted: NDArray[np.int32],
    *,
    lengths: NDArray[np.float64],
    average: float,
) -> Floats:
    """BM25 of each wanted episode as if it were one text; ``wanted`` are distinct codes."""
    local = np.full(len(lengths), -1, np.int32)
    local[wanted] = np.arange(len(wanted), dtype=np.int32)
    norms = lengths[wanted].astype(np.float32)
    scores = np.zeros(len(wanted), np.float32)
    for term in match.terms:
        place = local[codes[term.postings.rows]]
        inside = place >= 0
        counts = np.bincount(
            place[inside], weights=term.postings.counts[inside], minlength=len(wanted)
        )
        scores += np.float32(term.idf) * saturate(counts.astype(np.float32), norms, average)
    return scores


def _affordable(terms: Sequence[Term]) -> list[Term]:
    """The rarest terms within the budget, always at least one."""
    used: list[Term] = []
    spent = 0
    for term in sorted(terms, key=lambda t: len(t.postings.rows)):
        spent += len(term.postings.rows)
        if used and spent > POSTINGS_BUDGET:
            break
        used.append(term)
    return used
