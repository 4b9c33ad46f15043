"""Vectors of the index: sign bits for the first look, half floats for the last word.

The bits of all rows lie word by word (column-major), so that one pass of exclusive-or
and population count per word gives the Hamming distance of every row. The nearest few
hundred are then measured exactly. Below ``EXACT_ROWS`` rows the exact measure alone is
cheaper. Half floats live in blocks, so growing never copies them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from waypost.exceptions import DimensionMismatch
from waypost.index.columns import Column
from waypost.index.rows import Floats, Slots

BLOCK_ROWS = 1 << 14
EXACT_ROWS = 5_000
AT_ONCE = 256
"""Vectors measured in one product: they fit the cache, and are too few for the linear algebra
library to wake its other threads, which would then spin on cores that other callers need."""
_SAMPLE = 1 << 14
_FARTHEST = np.uint16((1 << 16) - 1)


class VectorColumn:
    """One vector per slot; slots without one are never found by vector."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.present: Column[np.bool_] = Column(np.bool_)
        self.bits: Column[np.uint64] = Column(np.uint64, words=-(-dimension // 64))
        self.blocks: list[NDArray[np.float16]] = []

    def set(self, slots: Slots, vectors: NDArray[np.floating]) -> None:
        """Store unit vectors; ``vectors`` has the shape (rows, dimension)."""
        self._reserve(int(slots.max()) + 1)
        half = vectors.astype(np.float16)
        for block, places, picked in self._by_block(slots):
            self.blocks[block][places] = half[picked]
        self.bits.data[:, slots] = sign_bits(vectors)
        self.present.data[slots] = True

    def erase(self, slot: int) -> None:
        """Wipe a vector: what was forgotten must not be recoverable from memory or file."""
        if slot // BLOCK_ROWS >= len(self.blocks):
            return
        self.present.data[slot] = False
        self.bits.data[:, slot] = 0
        self.blocks[slot // BLOCK_ROWS][slot % BLOCK_ROWS] = 0

    def get(self, slots: Slots) -> Floats:
        """The stored vectors; zero where a slot has none."""
        found = np.zeros((len(slots), self.dimension), np.float16)
        for block, places, picked in self._by_block(slots):
            if block < len(self.blocks):
                found[picked] = self.blocks[block][places]
        return widen(found)

    def cosines(self, slots: Slots, query: Floats) -> Floats:
        """Cosines to the query, nothing below 0."""
        found = np.zeros(len(slots), np.float32)
        for block, places, picked in self._by_block(slots):
            if block < len(self.blocks):
                for start in range(0, len(places), AT_ONCE):
                    part = slice(start, start + AT_ONCE)
                    found[picked[part]] = widen(self.blocks[block][places[part]]) @ query
        return np.maximum(found, np.float32(0), out=found)

    def nearest(self, query: Floats, eligible: NDArray[np.bool_], count: int) -> Slots:
        """At least ``count`` of the eligible slots nearest to the query, if there are as many."""
        rows = min(len(eligible), self.present.data.shape[-1])
        usable = eligible[:rows] & self.present.data[:rows]
        if rows <= EXACT_ROWS:
            return np.flatnonzero(usable)
        return _cut(self._distances(query, usable), count, 64 * len(self.bits.data))

    def check(self, vector: NDArray[np.floating]) -> None:
        if vector.shape != (self.dimension,):
            raise DimensionMismatch(
                f"a vector of shape {vector.shape} does not fit an index of "
                f"{self.dimension} dimensions; re-embed with the model the index was built with"
            )

    @property
    def nbytes(self) -> int:
        return self.bits.nbytes + self.present.nbytes + sum(b.nbytes for b in self.blocks)

    def _distances(self, query: Floats, usable: NDArray[np.bool_]) -> NDArray[np.uint16]:
        bits, words = self.bits.data, sign_bits(query[None, :])[:, 0]
        rows = len(usable)
        total: NDArray[np.uint16] = np.bitwise_count(bits[0, :rows] ^ words[0]).astype(np.uint16)
        for number in range(1, len(words)):
            total += np.bitwise_count(bits[number, :rows] ^ words[number])
        total[np.flatnonzero(~usable)] = _FARTHEST
        return total

    def _reserve(self, rows: int) -> None:
        self.present.reserve(rows)
        self.bits.reserve(rows)
        while len(self.blocks) * BLOCK_ROWS < rows:
            self.blocks.append(np.zeros((BLOCK_ROWS, self.dimension), np.float16))

    def _by_block(self, slots: Slots) -> list[tuple[int, Slots, Slots]]:
        """Group slots by the block they lie in: block, places in it, positions in ``slots``."""
        order = np.argsort(slots, kind="stable")
        ordered = slots[order]
        blocks = np.unique(ordered // BLOCK_ROWS)
        borders = [*np.searchsorted(ordered, blocks * BLOCK_ROWS).tolist(), len(slots)]
        return [
            (block, ordered[start:end] - block * BLOCK_ROWS, order[start:end])
            for block, start, end in zip(blocks.tolist(), borders, borders[1:], strict=False)
        ]


def sign_bits(vectors: NDArray[np.floating]) -> NDArray[np.uint64]:
    """Pack the signs of each vector into 64-bit words, shape (words, rows)."""
    packed = np.packbits(vectors > 0, axis=1)
    words = -(-vectors.shape[1] // 64)
    padded = np.zeros((len(vectors), words * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).T)


def widen(half: NDArray[np.float16]) -> Floats:
    """Half floats as single floats, by moving bits: numpy's own way takes twice the time."""
    bits = half.view(np.uint16).astype(np.uint32)
    signs = (bits & 0x8000) << 16
    bits &= 0x7FFF
    bits <<= 13
    single = bits.view(np.float32)
    single *= np.float32(2.0**112)
    bits |= signs
    return single


def _cut(distances: NDArray[np.uint16], count: int, largest: int) -> Slots:
    """Positions of at least the ``count`` smallest distances, with all ties at the border.

    The border is guessed from a sample, then moved outwards until enough lie within.
    """
    step = max(1, len(distances) // _SAMPLE)
    at_most = np.cumsum(np.bincount(distances[::step], minlength=largest + 1)[: largest + 1])
    border = int(np.searchsorted(at_most, 1.2 * count / step))
    while True:
        places = np.flatnonzero(distances <= border)
        if len(places) >= count or border >= largest:
            return places
        border += max(1, largest // 64)
