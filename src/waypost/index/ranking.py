"""The recipe: how text, vectors, neighbours and episodes become one relevance.

The unit that is stored is the single memory; the unit that is matched is the memory in
its context. Six parts are worked out per row, each divided by its best value for the
query, and summed with fixed weights:

- text: BM25 of the row's own terms, with the statistics of this agent alone;
- vector: cosine to the query;
- context: the query's terms that the row lacks and that open the two rows before it or
  the two after it; a question right before it lends more, and its cosine too;
- episode: BM25 of all terms of the row's episode, and its best cosine;
- entity: idf of the query's entities that the row names;
- time: whether the row falls into the time that the query names.

Text and vector count half for long rows: a long text touches on many things, a short one
says one. A part is divided by no less
than a floor with an absolute meaning, so a query that nothing answers well gives small
relevances rather than a 1.0 for the best of the rubbish. All functions are pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from waypost.index.rows import Floats

SATURATION = 0.9
LENGTH_NORM = 0.5

EPISODE_TEXT_WEIGHT = 0.3
EPISODE_VECTOR_WEIGHT = 0.35
EPISODE_WEIGHT = EPISODE_TEXT_WEIGHT + EPISODE_VECTOR_WEIGHT
CONTEXT_TEXT_WEIGHT = 0.6
CONTEXT_VECTOR_WEIGHT = 0.2
CONTEXT_WEIGHT = CONTEXT_TEXT_WEIGHT + CONTEXT_VECTOR_WEIGHT
ROUTE_WEIGHTS = {
    "text": 1.0,
    "vector": 0.9,
    "context": CONTEXT_WEIGHT,
    "episode": EPISODE_WEIGHT,
    "entity": 0.05,
    "time": 0.3,
}
FULL_MATCH = sum(ROUTE_WEIGHTS[name] for name in ("text", "vector", "episode"))
"""What a row reaches that is best by its own words and its episode: relevance 1. Nobody can
lend it words it has already, and not every query names an entity or a time."""

NEIGHBOUR_WEIGHTS = (1.0, 0.75)
"""Share of the row next to this one, and of the row after next, on each side."""

REPLY = 2.0
"""How many times its share a row lends to the next one when it asks something: the answer
rarely repeats the words of the question."""

TEXT_FLOOR = 0.3
"""A best text match below this share of the query's idf does not count as a full match."""

VECTOR_FLOOR = 0.4
"""Nor does a best cosine below this."""

BRIEF_TERMS, LONG_TERMS, LONG_SHARE = 50, 100, 0.5
"""Up to the first many terms a row counts in full, from the second on with this share."""

CONTRAST = np.float32(2.0)
"""A sum of routes is flat: the tenth row has two thirds of the first. Relevance is one of
several factors of a score, so that without more contrast any of the others would decide."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the routes say about the same rows. ``ideal_text`` is the idf sum of the query."""

    text: Floats
    vector: Floats
    context_text: Floats
    context_vector: Floats
    episode_text: Floats
    episode_vector: Floats
    entity: Floats
    time: Floats
    lengths: NDArray[np.int32]
    ideal_text: float


def inverse_document_frequency(rows: int, frequency: int) -> float:
    return float(np.log1p((rows - frequency + 0.5) / (frequency + 0.5)))


def saturate(counts: Floats, lengths: Floats, average: float) -> Floats:
    """BM25's share of a term: grows with its count, shrinks with the length of the text."""
    norm = lengths * np.float32(SATURATION * LENGTH_NORM / average)
    norm += np.float32(SATURATION * (1 - LENGTH_NORM))
    norm += counts
    return np.float32(SATURATION + 1) * counts / norm


def head_shares() -> Floats:
    """The share of a term that occurs 0, 1, 2 … times in a head; heads are of one length."""
    counts = np.arange(256, dtype=np.float32)
    return (SATURATION + 1) * counts / (counts + SATURATION)


def brevity(lengths: NDArray[np.int32]) -> Floats:
    """What text and vector of a row are multiplied with, by its number of terms."""
    excess = (lengths - np.float32(BRIEF_TERMS)) / np.float32(LONG_TERMS - BRIEF_TERMS)
    shares: Floats = 1 - np.float32(1 - LONG_SHARE) * np.clip(excess, 0, 1)
    return shares


def fuse(parts: Parts) -> tuple[Floats, dict[str, Floats]]:
    """One relevance per row from 0 to 1, and what each route scored, on the same scale."""
    text_floor, brief = TEXT_FLOOR * parts.ideal_text, brevity(parts.lengths)
    episode = EPISODE_TEXT_WEIGHT * _scaled(parts.episode_text, text_floor)
    episode += EPISODE_VECTOR_WEIGHT * _scaled(parts.episode_vector, VECTOR_FLOOR)
    context = CONTEXT_TEXT_WEIGHT * _scaled(parts.context_text, text_floor)
    context += CONTEXT_VECTOR_WEIGHT * _scaled(parts.context_vector, VECTOR_FLOOR)
    routes = {
        "text": _scaled(parts.text * brief, text_floor),
        "vector": _scaled(parts.vector * brief, VECTOR_FLOOR),
        "context": context / np.float32(CONTEXT_WEIGHT),
        "episode": episode / np.float32(EPISODE_WEIGHT),
        "entity": _scaled(parts.entity, text_floor),
        "time": parts.time,
    }
    parts_of_sum = [np.float32(ROUTE_WEIGHTS[name]) * scores for name, scores in routes.items()]
    return _contrasted(np.sum(parts_of_sum, axis=0, dtype=np.float32)), routes


def ranks(scores: Floats, places: NDArray[np.int64]) -> NDArray[np.int32]:
    """The rank from 1 that these places have among all scores; ties share it, score 0 has none."""
    chosen = scores[places]
    higher = len(scores) - np.searchsorted(np.sort(scores), chosen, side="right")
    return np.where(chosen > 0, higher + 1, 0).astype(np.int32)


def _contrasted(total: Floats) -> Floats:
    """Relevance from 0 to 1: the best by what it reached, the others falling off below it."""
    best = float(total.max(initial=0.0))
    if best <= 0:
        return total
    return np.float32(min(best / FULL_MATCH, 1.0)) * (total / np.float32(best)) ** CONTRAST


def _scaled(part: Floats, floor: float) -> Floats:
    best = max(float(part.max(initial=0.0)), floor)
    return part / np.float32(best) if best > 0 else part
