"""What an index holds: its columns, postings, vectors and look-ups, as plain parts.

Slots count from 1; slot 0 is the null row. ``slots`` maps the row ids that are alive to
theirs; a slot that is not in it is dead and stays until the index is rebuilt.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from waypost.index.columns import Column
from waypost.index.episodes import Episodes
from waypost.index.matching import Statistics
from waypost.index.postings import InvertedIndex
from waypost.index.reading import Snapshot, entity_term
from waypost.index.rows import IndexRow, Slots
from waypost.index.vectors import VectorColumn


class IndexState:
    """The parts of an index. ``count`` includes the null row."""

    def __init__(self, dimension: int | None = None) -> None:
        self.slots: dict[int, int] = {}
        self.vocabulary: dict[str, int] = {}
        self.postings = InvertedIndex()
        self.vectors = None if dimension is None else VectorColumn(dimension)
        self.row_ids: Column[np.int64] = Column(np.int64)
        self.times: Column[np.float64] = Column(np.float64)
        self.lengths: Column[np.int32] = Column(np.int32)
        self.signatures: Column[np.uint32] = Column(np.uint32)
        self.live: Column[np.bool_] = Column(np.bool_)
        self.active: Column[np.bool_] = Column(np.bool_)
        self.asks: Column[np.bool_] = Column(np.bool_)
        self.episodes = Episodes(self.times, self.row_ids, self.lengths)
        self.count = 1
        self.total_length = 0

    def columns(self) -> dict[str, Column[Any]]:
        """All columns that have one entry per slot, by name."""
        return {
            "row_ids": self.row_ids,
            "times": self.times,
            "lengths": self.lengths,
            "signatures": self.signatures,
            "live": self.live,
            "active": self.active,
            "asks": self.asks,
            "codes": self.episodes.code,
            "previous": self.episodes.previous,
            "next": self.episodes.next,
        }

    def write(self, rows: Sequence[IndexRow]) -> Slots:
        """Fill the columns of new slots behind the last one, and return these slots."""
        part = slice(self.count, self.count + len(rows))
        for column in self.columns().values():
            column.reserve(part.stop)
        self.row_ids.data[part] = [row.row_id for row in rows]
        self.times.data[part] = [row.timestamp for row in rows]
        self.lengths.data[part] = [len(row.terms) for row in rows]
        self.signatures.data[part] = [signature(row) for row in rows]
        self.active.data[part] = [row.active for row in rows]
        self.asks.data[part] = [row.asks for row in rows]
        self.live.data[part] = True
        self.total_length += int(self.lengths.data[part].sum())
        return np.arange(part.start, part.stop)

    def bury(self, slot: int) -> None:
        """Take a slot out of everything that is searched."""
        self.live.data[slot] = self.active.data[slot] = False
        self.episodes.take_out(slot)
        self.total_length -= int(self.lengths.data[slot])
        if self.vectors is not None:
            self.vectors.erase(slot)

    def numbers(self, row: IndexRow) -> NDArray[np.int32]:
        """The terms of a row, then its entities, as numbers of the vocabulary."""
        vocabulary = self.vocabulary
        entities = dict.fromkeys(entity_term(name) for name in row.entities)
        words = [*row.terms, *entities]
        return np.array([vocabulary.setdefault(w, len(vocabulary)) for w in words], np.int32)

    def statistics(self) -> Statistics:
        rows, episodes = max(1, len(self.slots)), max(1, self.episodes.occupied)
        length = self.total_length
        return Statistics(len(self.slots), max(1.0, length / rows), max(1.0, length / episodes))

    def snapshot(self, statistics: Statistics | None = None) -> Snapshot:
        """The arrays that one search works on; postings must be taken before the count."""
        postings, count = self.postings.view(), self.count
        return Snapshot(
            count=count,
            postings=postings,
            vocabulary=self.vocabulary,
            vectors=self.vectors,
            row_ids=self.row_ids.data[:count],
            times=self.times.data[:count],
            lengths=self.lengths.data[:count],
            live=self.live.data[:count],
            active=self.active.data[:count],
            asks=self.asks.data[:count],
            previous=self.episodes.previous.data[:count],
            following=self.episodes.next.data[:count],
            codes=self.episodes.code.data[:count],
            episode_lengths=self.episodes.lengths.data,
            all_live=len(self.slots) == count - 1,
            statistics=statistics or self.statistics(),
        )

    @property
    def nbytes(self) -> int:
        """Bytes held; those of the Python look-ups are estimated."""
        arrays = sum(column.nbytes for column in self.columns().values())
        tables = 100 * len(self.slots) + 130 * len(self.vocabulary)
        episodes = 150 * self.episodes.occupied + self.episodes.lengths.nbytes
        vectors = self.vectors.nbytes if self.vectors is not None else 0
        return arrays + tables + episodes + vectors + self.postings.nbytes


def signature(row: IndexRow) -> int:
    """Tells whether the terms or entities of a known row have changed."""
    return zlib.crc32("\x00".join([*row.terms, "", *row.entities]).encode())
