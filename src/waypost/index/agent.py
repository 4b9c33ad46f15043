"""The index of one agent: everything that ranking needs, in memory, rebuildable.

The database is the record; this is a view of it, fed row by row in the order of the
change sequence and thrown away when in doubt. It holds terms, vectors, times and
episodes, but no text.

Writers take a lock; readers take none: they work on the arrays and segments they found
when they began. Upserts and removals leave the old slot behind as dead until the index
is rebuilt. Above lie the read path and the write path; below, the modules of this package.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from waypost.exceptions import NotFound
from waypost.index import persistence
from waypost.index.matching import Statistics
from waypost.index.postings import count_terms
from waypost.index.reading import search
from waypost.index.rows import Candidates, Floats, IndexRow, Query, RowIds, Slots
from waypost.index.state import IndexState, signature
from waypost.index.vectors import VectorColumn


class AgentIndex:
    """Text, vectors and episodes of one agent's memories.

    Without a ``dimension`` the first vector decides it; later ones must agree.
    """

    def __init__(self, dimension: int | None = None) -> None:
        self._state = IndexState(dimension)
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._state.slots)

    def __contains__(self, row_id: object) -> bool:
        return row_id in self._state.slots

    def add(self, rows: Iterable[IndexRow]) -> None:
        """Add rows, or replace those known by their id. One call may hold any number."""
        with self._lock:
            latest = {row.row_id: row for row in rows}
            ordered = sorted(latest.values(), key=lambda row: (row.timestamp, row.row_id))
            for row in ordered:
                self._check_vector(row.vector)
            fresh = [row for row in ordered if not self._refresh(row)]
            if fresh:
                self._insert(fresh)

    def remove(self, row_ids: Iterable[int]) -> None:
        """Forget rows; unknown ids are ignored."""
        with self._lock:
            for row_id in row_ids:
                slot = self._state.slots.pop(int(row_id), None)
                if slot is not None:
                    self._state.bury(slot)

    def set_active(self, row_ids: Iterable[int], active: bool) -> None:
        """Mark rows as current or superseded; superseded ones are found only when asked for."""
        with self._lock:
            found = (self._state.slots.get(int(row_id)) for row_id in row_ids)
            slots = np.array([slot for slot in found if slot is not None], np.int64)
            self._state.active.data[slots] = active

    def set_vectors(self, row_ids: Sequence[int], vectors: NDArray[np.floating]) -> None:
        """Give rows the vectors they lacked, or new ones; unknown ids are ignored."""
        with self._lock:
            known = [
                (self._state.slots.get(int(r)), v) for r, v in zip(row_ids, vectors, strict=True)
            ]
            for _, vector in known:
                self._check_vector(vector)
            self._store_vectors([(slot, v) for slot, v in known if slot is not None])

    def candidates(self, query: Query, statistics: Statistics | None = None) -> Candidates:
        """The rows most relevant to the query, best first, at most ``query.limit``.

        ``statistics`` stand in for those of the rows held, when these are only a part.
        """
        return search(self._state.snapshot(statistics), query)

    def statistics(self) -> Statistics:
        """What BM25 knows of this agent's rows as a whole."""
        return self._state.statistics()

    def neighbours(self, row_id: int, count: int = 2) -> RowIds:
        """Up to ``count`` rows before and ``count`` after in the episode, in order of time."""
        slot, episodes = self._slot(row_id), self._state.episodes
        before = _walk(slot, episodes.previous.data, count)[::-1]
        after = _walk(slot, episodes.next.data, count)
        return self._state.row_ids.data[np.array(before + after, np.int64)]

    def rows_near(self, timestamp: float, count: int = 5) -> RowIds:
        """The rows nearest in time to a moment, of all episodes, nearest first."""
        slots = np.flatnonzero(self._state.live.data[: self._state.count])
        distance = np.abs(self._state.times.data[slots] - timestamp)
        if count < len(slots):
            nearest = np.argpartition(distance, count)[:count]
            slots, distance = slots[nearest], distance[nearest]
        row_ids = self._state.row_ids.data[slots]
        return row_ids[np.lexsort((row_ids, distance))]

    def vector_of(self, row_ids: Iterable[int]) -> Floats:
        """The stored vectors (half precision), zero for rows that have none."""
        slots = np.array([self._slot(int(r)) for r in row_ids], np.int64)
        vectors = self._state.vectors
        return np.zeros((len(slots), 0), np.float32) if vectors is None else vectors.get(slots)

    def save(self, path: Path, *, watermark: int, embedder: str) -> None:
        """Write the index to a file as of a change number; an OSError leaves the old file."""
        with self._lock:
            persistence.save(self._state, path, watermark=watermark, embedder=embedder)

    @classmethod
    def load(cls, path: Path, *, embedder: str) -> tuple[AgentIndex, int] | None:
        """An index from a file with its watermark, or None when it must be built anew."""
        loaded = persistence.load(path, embedder=embedder)
        if loaded is None:
            return None
        index = cls()
        index._state, watermark = loaded
        return index, watermark

    @property
    def memory_bytes(self) -> int:
        return self._state.nbytes

    def _refresh(self, row: IndexRow) -> bool:
        """Update a known row in place when its terms are the same; False when it must be added."""
        state, slot = self._state, self._state.slots.get(row.row_id)
        if slot is None:
            return False
        if state.signatures.data[slot] != signature(row):
            del state.slots[row.row_id]
            state.bury(slot)
            return False
        self._relocate(slot, row)
        state.active.data[slot] = row.active
        state.asks.data[slot] = row.asks
        if row.vector is not None:
            self._store_vectors([(slot, row.vector)])
        return True

    def _relocate(self, slot: int, row: IndexRow) -> None:
        times, episodes = self._state.times.data, self._state.episodes
        if times[slot] != row.timestamp or episodes.name_of(slot) != row.episode:
            episodes.take_out(slot)
            times[slot] = row.timestamp
            episodes.place(slot, row.episode)

    def _insert(self, rows: list[IndexRow]) -> None:
        state = self._state
        slots = state.write(rows)
        pairs = list(zip(slots.tolist(), rows, strict=True))
        for slot, row in pairs:
            state.episodes.place(slot, row.episode)
        self._store_vectors([(slot, row.vector) for slot, row in pairs if row.vector is not None])
        state.slots.update((row.row_id, slot) for slot, row in pairs)
        state.count += len(rows)
        state.postings.add(count_terms(slots.astype(np.int32), [state.numbers(r) for r in rows]))

    def _check_vector(self, vector: NDArray[np.floating] | None) -> None:
        """Refuse a vector of the wrong length before anything has changed."""
        if vector is None:
            return
        if self._state.vectors is None:
            self._state.vectors = VectorColumn(len(vector))
        self._state.vectors.check(vector)

    def _store_vectors(self, pairs: list[tuple[int, NDArray[np.floating]]]) -> None:
        if pairs and self._state.vectors is not None:
            slots = np.array([slot for slot, _ in pairs], np.int64)
            self._state.vectors.set(slots, np.stack([vector for _, vector in pairs]))

    def _slot(self, row_id: int) -> int:
        slot = self._state.slots.get(row_id)
        if slot is None:
            raise NotFound(f"row {row_id} is not in the index")
        return slot


def rank_slice(query: Query, rows: Iterable[IndexRow], statistics: Statistics) -> Candidates:
    """Rank rows that another store has picked, as if they stood in the whole index.

    With whole episodes of the candidates in ``rows`` and the statistics of all rows, the
    answer is the same as that of an index of everything; ``query.allowed`` names those
    that may be answers, the others lend context.
    """
    index = AgentIndex()
    index.add(rows)
    return index.candidates(query, statistics)


def _walk(slot: int, pointers: Slots, count: int) -> list[int]:
    steps: list[int] = []
    while len(steps) < count and (slot := int(pointers[slot])):
        steps.append(slot)
    return steps
