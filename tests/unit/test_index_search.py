"""What the index finds, and what it says about why."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.index_rows import ask, filled, row, unit_vectors
from waypost.encode.terms import analyze
from waypost.exceptions import DimensionMismatch, NotFound
from waypost.index import AgentIndex, Query


def test_the_row_that_shares_the_rare_word_comes_first() -> None:
    index = filled("we met for lunch", "the invoice is overdue", "lunch was late", episode="a")
    assert ask(index, "where is the overdue invoice?")[0] == 2


def test_an_answer_without_the_words_is_found_through_its_neighbour() -> None:
    index = AgentIndex()
    index.add(
        [
            row(1, "which hotel did you book in Lisbon?", episode="trip"),
            row(2, "the blue one near the river", episode="trip"),
            row(3, "dinner was fine", episode="other"),
        ]
    )
    found = index.candidates(Query(analyze("Lisbon hotel")))
    assert found.row_ids.tolist()[:2] == [1, 2]
    assert {route for route, _, _ in found.found_by(1)} >= {"context", "episode"}


@pytest.mark.parametrize("by_vector", [False, True])
def test_the_row_after_a_question_gets_more_from_it_than_from_a_remark(by_vector: bool) -> None:
    alike, other = unit_vectors(2, 64)
    index = AgentIndex()
    for number, episode, asks in ((1, "told", False), (3, "asked", True)):
        opening = alike if by_vector else None
        index.add([row(number, "the hotel in Lisbon", episode=episode, asks=asks, vector=opening)])
        reply = other if by_vector else None
        index.add([row(number + 1, "the blue one", episode=episode, vector=reply)])
    query = Query(vector=alike) if by_vector else Query(analyze("Lisbon hotel"))
    found = index.candidates(query).row_ids.tolist()
    assert found.index(4) < found.index(2)


def test_a_row_that_becomes_a_question_lends_like_one() -> None:
    index = AgentIndex()
    for number, episode in ((1, "a"), (3, "b")):
        index.add([row(number, "the hotel in Lisbon", episode=episode)])
        index.add([row(number + 1, "the blue one", episode=episode)])
    index.add([row(3, "the hotel in Lisbon", episode="b", asks=True)])
    found = ask(index, "Lisbon hotel")
    assert found.index(4) < found.index(2)


def test_a_row_outside_the_episode_gets_no_context_from_it() -> None:
    index = AgentIndex()
    index.add(
        [
            row(1, "which hotel did you book in Lisbon?", episode="trip"),
            row(2, "the blue one near the river", episode="another"),
        ]
    )
    assert ask(index, "Lisbon hotel") == [1]


def test_vectors_find_what_words_do_not() -> None:
    vectors = unit_vectors(3, 64)
    index = AgentIndex()
    index.add(row(n, "", vector=vectors[n - 1], episode=str(n)) for n in (1, 2, 3))
    found = index.candidates(Query(vector=vectors[1]))
    assert found.row_ids[0] == 2
    assert found.found_by(0)[0][:2] == ("vector", 1)


@pytest.mark.parametrize("dimension", [64, 100, 256, 384])
def test_sign_bits_and_rescoring_agree_with_exact_search(dimension: int) -> None:
    vectors = unit_vectors(6_000, dimension)
    index = AgentIndex(dimension)
    index.add(row(n, "", vector=v, episode=str(n)) for n, v in enumerate(vectors, 1))
    asked = vectors[17] + 0.02 * vectors[4_000]
    exact = np.argsort(-(vectors @ asked))[:2] + 1
    assert index.candidates(Query(vector=asked)).row_ids[:2].tolist() == exact.tolist()


def test_a_vector_of_another_length_is_refused_and_changes_nothing() -> None:
    index = filled("kept as it was")
    index.add([row(2, "has a vector", vector=unit_vectors(1, 64)[0])])
    with pytest.raises(DimensionMismatch, match="64 dimensions"):
        index.add([row(3, "other"), row(4, "wrong", vector=unit_vectors(1, 32)[0])])
    with pytest.raises(DimensionMismatch):
        index.candidates(Query(vector=unit_vectors(1, 32)[0]))
    assert len(index) == 2
    assert ask(index, "wrong other") == []


def test_a_short_row_comes_before_a_long_one_that_also_says_it() -> None:
    filler = " ".join(f"word{number}" for number in range(120))
    vector = unit_vectors(1, 64)[0]
    index = AgentIndex()
    index.add([row(1, f"the code is 4711 {filler}", episode="a", vector=vector)])
    index.add([row(2, "we spoke of a code", episode="b", vector=vector)])
    found = index.candidates(Query(vector=vector))
    assert found.row_ids.tolist() == [2, 1]


def test_only_allowed_rows_are_found_but_all_lend_context() -> None:
    index = filled("the gate code changed", "it is 4711", "gate code again", episode="a")
    assert ask(index, "gate code", allowed=np.array([2])) == [2]


def test_superseded_rows_are_found_only_when_asked_for() -> None:
    index = filled("the port is 80", "the port is 8080", episode="a")
    index.set_active([1], False)
    assert ask(index, "port") == [2]
    assert sorted(ask(index, "port", include_inactive=True)) == [1, 2]
    index.set_active([1], True)
    assert sorted(ask(index, "port")) == [1, 2]


def test_a_time_in_the_question_favours_rows_of_that_time_and_excludes_none() -> None:
    index = AgentIndex()
    index.add(row(n, "we went sailing", timestamp=1000.0 * n, episode=str(n)) for n in (1, 2, 3))
    assert ask(index, "sailing", time_range=(1500.0, 2500.0)) == [2, 1, 3]


def test_a_named_entity_lifts_the_rows_that_name_it() -> None:
    index = AgentIndex()
    index.add([row(1, "status report", episode="a")])
    index.add([row(2, "status report", episode="b", entities=("Acme Corp",))])
    found = index.candidates(Query(analyze("status report"), entities=("acme  corp",)))
    assert found.row_ids.tolist() == [2, 1]
    assert "entity" in {route for route, _, _ in found.found_by(0)}


def test_a_query_that_nothing_answers_well_gets_low_relevance() -> None:
    texts = [f"note {n} about gardens and kitchens" for n in range(30)]
    index = filled(*texts, "the reactor uses thorium", episode="a")
    good = index.candidates(Query(analyze("which reactor uses thorium")))
    poor = index.candidates(Query(analyze("gardens quantum zeppelin xylophone marmalade")))
    assert good.relevance[0] > 2 * poor.relevance[0]
    assert 0 <= poor.relevance.min() <= good.relevance.max() <= 1


def test_nothing_in_common_finds_nothing() -> None:
    assert ask(filled("about cats", "about dogs"), "zeppelin") == []
    assert ask(AgentIndex(), "anything") == []
    assert ask(filled("about cats"), "") == []


def test_the_limit_is_kept_and_the_order_is_by_relevance() -> None:
    index = filled(*(f"apple number {n}" for n in range(50)))
    found = index.candidates(Query(analyze("apple"), limit=7))
    assert len(found) == 7
    assert (np.diff(found.relevance) <= 0).all()


def test_large_and_small_paths_agree_on_the_best_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"word{n}" for n in range(400)]
    choice = np.random.default_rng(3).integers(0, 400, (3_000, 8))
    vectors = unit_vectors(3_000, 64)
    index = AgentIndex()
    index.add(
        row(n, " ".join(words[c] for c in picks), vector=vectors[n - 1], episode=str(n // 9))
        for n, picks in enumerate(choice, 1)
    )
    query = Query(["word7", "word11"], vectors[5], limit=5)
    picked = index.candidates(query)
    monkeypatch.setattr("waypost.index.reading.RANK_ALL_ROWS", 10_000)
    everything = index.candidates(query)
    assert picked.row_ids.tolist() == everything.row_ids.tolist()


def test_neighbours_come_in_order_of_time_and_unknown_rows_are_an_error() -> None:
    index = filled("a", "b", "c", "d", "e", episode="x")
    assert index.neighbours(3, 1).tolist() == [2, 4]
    assert index.neighbours(1, 2).tolist() == [2, 3]
    with pytest.raises(NotFound):
        index.neighbours(99)


def test_rows_near_a_moment_come_nearest_first() -> None:
    index = AgentIndex()
    index.add(row(n, "x", timestamp=float(n * 100)) for n in (1, 2, 3, 9))
    assert index.rows_near(290.0, 2).tolist() == [3, 2]


def test_stored_vectors_come_back_and_missing_ones_are_zero() -> None:
    vectors = unit_vectors(1, 64)
    index = filled("no vector")
    index.add([row(2, "a vector", vector=vectors[0])])
    found = index.vector_of([2, 1])
    assert np.allclose(found[0], vectors[0], atol=1e-3)
    assert not found[1].any()
