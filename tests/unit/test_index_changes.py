"""The index follows its database: upserts, removals, late arrivals, several threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.index_rows import ask, filled, row, unit_vectors
from waypost.encode.terms import analyze
from waypost.index import AgentIndex, IndexRow, Query, Statistics, rank_slice


def test_a_changed_text_replaces_the_old_one() -> None:
    index = filled("the port is eighty")
    index.add([row(1, "the gate is open")])
    assert ask(index, "port eighty") == []
    assert ask(index, "gate") == [1]
    assert len(index) == 1


def test_a_vector_that_arrives_later_is_found() -> None:
    vectors = unit_vectors(2, 64)
    index = filled("first", "second")
    index.add([row(1, "first", vector=vectors[0])])
    index.set_vectors([2, 99], np.stack([vectors[1], vectors[0]]))
    assert index.candidates(Query(vector=vectors[0])).row_ids[0] == 1
    assert index.candidates(Query(vector=vectors[1])).row_ids[0] == 2


def test_a_removed_row_is_gone_from_text_vectors_and_neighbours() -> None:
    vectors = unit_vectors(3, 64)
    index = AgentIndex()
    index.add(row(n, "same words", vector=vectors[n - 1], episode="e") for n in (1, 2, 3))
    index.remove([2, 77])
    assert sorted(ask(index, "same words")) == [1, 3]
    assert 2 not in index.candidates(Query(vector=vectors[1])).row_ids
    assert index.neighbours(1, 1).tolist() == [3]
    assert 2 not in index


def test_a_late_arrival_takes_its_place_in_the_episode() -> None:
    index = AgentIndex()
    for moment in (10.0, 40.0, 20.0, 30.0, 5.0):
        index.add([row(int(moment), "x", timestamp=moment, episode="e")])
    assert index.neighbours(20, 9).tolist() == [5, 10, 30, 40]


def test_a_row_that_moves_to_another_episode_is_relinked() -> None:
    index = filled("a", "b", "c", episode="one")
    index.add([row(2, "b", episode="two")])
    assert index.neighbours(1, 1).tolist() == [3]
    assert index.neighbours(2).tolist() == []


def test_rows_without_an_episode_belong_together_until_an_hour_passes() -> None:
    index = AgentIndex()
    times = {1: 0.0, 2: 1800.0, 3: 9000.0, 4: 9060.0}
    index.add(row(n, "x", timestamp=t) for n, t in times.items())
    assert index.neighbours(2, 5).tolist() == [1]
    assert index.neighbours(4, 5).tolist() == [3]


def test_a_row_in_the_gap_joins_two_stretches_and_its_removal_parts_them() -> None:
    index = AgentIndex()
    index.add([row(1, "x", timestamp=0.0), row(2, "x", timestamp=7000.0)])
    assert index.neighbours(1).tolist() == []
    index.add([row(3, "x", timestamp=3500.0)])
    assert index.neighbours(1, 5).tolist() == [3, 2]
    index.remove([3])
    assert index.neighbours(1).tolist() == []
    assert index.neighbours(2).tolist() == []


ROWS = st.builds(
    IndexRow,
    row_id=st.integers(1, 12),
    terms=st.lists(st.sampled_from(["red", "green", "blue", "gold"]), max_size=5),
    timestamp=st.integers(0, 20).map(lambda hours: hours * 1500.0),
    episode=st.sampled_from([None, "a", "b"]),
    asks=st.booleans(),
    active=st.booleans(),
)
STEPS = st.lists(st.one_of(ROWS, st.integers(1, 12), st.lists(ROWS, max_size=6)), max_size=25)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_whatever_happened_the_index_equals_one_built_from_what_is_left(
    steps: list[IndexRow | int | list[IndexRow]],
) -> None:
    index, left = AgentIndex(), dict[int, IndexRow]()
    for step in steps:
        if isinstance(step, int):
            index.remove([step])
            left.pop(step, None)
            continue
        batch = [step] if isinstance(step, IndexRow) else step
        index.add(batch)
        left.update((one.row_id, one) for one in batch)
    fresh = AgentIndex()
    fresh.add(left.values())
    _assert_same(index, fresh, list(left))


def _assert_same(one: AgentIndex, other: AgentIndex, row_ids: list[int]) -> None:
    assert len(one) == len(other) == len(row_ids)
    for row_id in row_ids:
        assert one.neighbours(row_id, 20).tolist() == other.neighbours(row_id, 20).tolist()
    for query in (Query(["red", "gold"]), Query(["blue"], include_inactive=True)):
        first, second = one.candidates(query), other.candidates(query)
        assert first.row_ids.tolist() == second.row_ids.tolist()
        assert np.allclose(first.relevance, second.relevance)


def test_a_slice_with_the_statistics_of_all_rows_is_ranked_like_the_whole() -> None:
    texts = [f"{'apple' if n % 5 == 0 else 'pear'} item {n % 7} on day {n}" for n in range(60)]
    rows = [row(n, text, episode=str(n // 6)) for n, text in enumerate(texts, 1)]
    whole = AgentIndex()
    whole.add(rows)
    terms = analyze("apple item 3")
    held = whole.statistics()
    frequencies = {term: sum(term in one.terms for one in rows) for term in terms}
    statistics = Statistics(
        held.rows, held.average_length, held.average_episode_length, frequencies
    )
    expected = whole.candidates(Query(terms, limit=100))
    answer = rank_slice(Query(terms, limit=100), rows[:30], statistics)
    kept = [r for r in expected.row_ids.tolist() if r <= 30]
    assert answer.row_ids.tolist()[:3] == kept[:3]
    full = rank_slice(Query(terms, limit=100), rows, statistics)
    assert full.row_ids.tolist() == expected.row_ids.tolist()
    assert np.allclose(full.relevance, expected.relevance)


def test_readers_are_served_while_a_writer_adds_and_removes() -> None:
    index, failures = filled("seed apple"), list[BaseException]()
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                found = index.candidates(Query(["appl"], limit=5))
                assert 1 in found.row_ids or len(found) == 5
        except BaseException as error:  # noqa: BLE001  (handed to the test)
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for start in range(2, 4_000, 40):
        index.add(
            row(n, f"apple number {n} word{n}", episode="e") for n in range(start, start + 40)
        )
        index.remove(range(start, start + 5))
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []


@pytest.mark.parametrize("batch", [1, 7, 500])
def test_the_size_of_batches_makes_no_difference(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("waypost.index.postings.LOG_ENTRIES", 64)
    rows = [row(n, f"tree {n % 13} leaf {n % 5}", episode=str(n // 10)) for n in range(1, 501)]
    index, whole = AgentIndex(), AgentIndex()
    whole.add(rows)
    for start in range(0, len(rows), batch):
        index.add(rows[start : start + batch])
    query = Query(analyze("tree 7 leaf 3"), limit=40)
    assert index.candidates(query).row_ids.tolist() == whole.candidates(query).row_ids.tolist()
