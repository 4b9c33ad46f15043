"""One search over a snapshot: pick candidates by every route, then rank them exactly.

Small agents have every row ranked. Larger ones first look at the whole corpus with cheap
dense passes (terms and their neighbourhoods, sign bits), keep some hundreds of rows, and
work out all parts of the recipe for those only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from waypost.index.matching import (
    Statistics,
    TextMatch,
    context_scores,
    episode_scores,
    match_text,
    neighbour_scores,
    weigh,
)
from waypost.index.postings import Postings, PostingsView
from waypost.index.ranking import (
    CONTEXT_TEXT_WEIGHT,
    NEIGHBOUR_WEIGHTS,
    REPLY,
    Parts,
    fuse,
    ranks,
)
from waypost.index.rows import Candidates, Floats, Query, RouteScores, Slots
from waypost.index.vectors import VectorColumn

ENTITY_MARK = "\x1f"
"""Sets the terms that stand for entities apart from words."""

RANK_ALL_ROWS = 2_000
"""Up to this many rows every one is ranked."""

PER_ROUTE = 200
"""How many rows each route may nominate beyond that."""

MEASURED = 700
ROWS_PER_EXTRA = 400
"""Sign bits are coarse: so many of the nearest are measured exactly, and one more for every
so many rows held, before the best of them are nominated."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The arrays of an index at one moment; slot 0 is the null row."""

    count: int
    postings: PostingsView
    vocabulary: Mapping[str, int]
    vectors: VectorColumn | None
    row_ids: NDArray[np.int64]
    times: NDArray[np.float64]
    lengths: NDArray[np.int32]
    live: NDArray[np.bool_]
    active: NDArray[np.bool_]
    asks: NDArray[np.bool_]
    previous: Slots
    following: Slots
    codes: NDArray[np.int32]
    episode_lengths: NDArray[np.float64]
    all_live: bool
    statistics: Statistics


def entity_term(name: str) -> str:
    return ENTITY_MARK + " ".join(name.lower().split())


def search(index: Snapshot, query: Query) -> Candidates:
    """Rank the rows of one snapshot for a query."""
    vector = _usable_vector(index, query)
    match = _match(index, query)
    entity = _entity_scores(index, query)
    eligible = _eligible(index, query)
    if np.count_nonzero(eligible) > RANK_ALL_ROWS:
        slots = _nominate(index, eligible, [_in_context(index, match), entity], vector)
    else:
        slots = np.flatnonzero(eligible)
    cosines = _cosines(index, slots, vector)
    episode_text, episode_vector = _episode_parts(index, match, slots, cosines)
    parts = Parts(
        text=match.row[slots],
        vector=cosines,
        context_text=context_scores(match, slots, _neighbours(index, slots)),
        context_vector=_question_cosines(index, slots, vector),
        episode_text=episode_text,
        episode_vector=episode_vector,
        entity=entity[slots],
        time=_within(index.times[slots], query.time_range),
        lengths=index.lengths[slots],
        ideal_text=match.ideal,
    )
    return _best(index.row_ids[slots], parts, query.limit)


def _usable_vector(index: Snapshot, query: Query) -> Floats | None:
    if query.vector is None or index.vectors is None:
        return None
    vector = np.asarray(query.vector, np.float32)
    index.vectors.check(vector)
    return vector


def _eligible(index: Snapshot, query: Query) -> NDArray[np.bool_]:
    mask = index.live if query.include_inactive else index.active
    if query.allowed is not None:
        mask = mask & np.isin(index.row_ids, query.allowed)
    return mask


def _match(index: Snapshot, query: Query) -> TextMatch:
    words = list(dict.fromkeys(query.terms))
    terms = weigh(words, _find(index, words), index.statistics)
    return match_text(terms, index.count, index.lengths, index.statistics)


def _find(index: Snapshot, words: list[str]) -> list[Postings]:
    found = index.postings.find(index.vocabulary.get(word, -1) for word in words)
    if index.all_live:
        return found
    return [_living(postings, index.live) for postings in found]


def _living(postings: Postings, live: NDArray[np.bool_]) -> Postings:
    keep = live[postings.rows]
    return Postings(postings.rows[keep], postings.counts[keep], postings.heads[keep])


def _entity_scores(index: Snapshot, query: Query) -> Floats:
    scores = np.zeros(index.count, np.float32)
    words = list(dict.fromkeys(entity_term(name) for name in query.entities))
    for term in weigh(words, _find(index, words), index.statistics):
        scores[term.postings.rows] += np.float32(term.idf)
    return scores


def _in_context(index: Snapshot, match: TextMatch) -> Floats:
    """Text and context at most, per slot."""
    context = neighbour_scores(match.head, index.previous, index.following, NEIGHBOUR_WEIGHTS)
    return match.row + np.float32(CONTEXT_TEXT_WEIGHT) * context


def _neighbours(index: Snapshot, slots: Slots) -> list[tuple[Slots, Floats]]:
    """For every slot the rows before and after it, nearest first, and what shares they lend."""
    near = []
    for pointers in (index.previous, index.following):
        place = slots
        for share in NEIGHBOUR_WEIGHTS:
            place = pointers.take(place, mode="clip")
            near.append((place, np.full(len(slots), share, np.float32)))
    before, shares = near[0]
    shares[index.asks.take(before, mode="clip")] *= np.float32(REPLY)
    return near


def _question_cosines(index: Snapshot, slots: Slots, vector: Floats | None) -> Floats:
    """For every slot the cosine of the question right before it, 0 where there is none."""
    scores = np.zeros(len(slots), np.float32)
    before = index.previous.take(slots, mode="clip")
    replies = np.flatnonzero(index.asks.take(before, mode="clip"))
    if len(replies):
        scores[replies] = _cosines(index, before[replies], vector)
    return scores


def _within(times: NDArray[np.float64], span: tuple[float | None, float | None]) -> Floats:
    """1 for rows inside the time range, else 0; nothing is inside a range without ends."""
    start, end = span
    if start is None and end is None:
        return np.zeros(len(times), np.float32)
    inside = np.ones(len(times), np.bool_)
    if start is not None:
        inside &= times >= start
    if end is not None:
        inside &= times < end
    return inside.astype(np.float32)


def _nominate(
    index: Snapshot,
    eligible: NDArray[np.bool_],
    routes: list[Floats],
    vector: Floats | None,
) -> Slots:
    """The best slots of every route, ascending."""
    chosen = [_highest(scores * eligible, PER_ROUTE) for scores in routes if scores.any()]
    if vector is not None and index.vectors is not None:
        near = index.vectors.nearest(vector, eligible, MEASURED + index.count // ROWS_PER_EXTRA)
        chosen.append(near[_highest(index.vectors.cosines(near, vector), PER_ROUTE)])
    return np.unique(np.concatenate(chosen)) if chosen else np.zeros(0, np.int64)


def _highest(scores: Floats, count: int) -> Slots:
    """Positions of about the ``count`` highest scores above 0, without sorting all of them."""
    best = float(scores.max(initial=0.0))
    if best <= 0:
        return np.zeros(0, np.int64)
    for share in (0.5, 0.25, 0.1, 0.0):
        places = np.flatnonzero(scores > best * share)
        if len(places) >= count:
            break
    if len(places) <= count:
        return places
    return places[np.argpartition(-scores[places], count)[:count]]


def _cosines(index: Snapshot, slots: Slots, vector: Floats | None) -> Floats:
    if vector is None or index.vectors is None:
        return np.zeros(len(slots), np.float32)
    return index.vectors.cosines(slots, vector)


def _episode_parts(
    index: Snapshot, match: TextMatch, slots: Slots, cosines: Floats
) -> tuple[Floats, Floats]:
    """What the episode of each slot scores as a text, and by its best vector."""
    episodes, member = np.unique(index.codes[slots], return_inverse=True)
    text = episode_scores(
        match,
        index.codes,
        episodes,
        lengths=index.episode_lengths,
        average=index.statistics.average_episode_length,
    )
    best = np.zeros(len(episodes), np.float32)
    np.maximum.at(best, member, cosines)
    return text[member], best[member]


def _best(row_ids: NDArray[np.int64], parts: Parts, limit: int) -> Candidates:
    relevance, routes = fuse(parts)
    order = np.lexsort((row_ids, -relevance))[:limit]
    order = order[relevance[order] > 0]
    placed = {
        name: RouteScores(scores[order], ranks(scores, order)) for name, scores in routes.items()
    }
    return Candidates(row_ids[order], relevance[order], placed)
