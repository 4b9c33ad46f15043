"""Arrays that grow: the columns of the index.

A column doubles its room when full. The array that a reader holds stays valid while
the writer grows, so a reader that first takes the row count and then the arrays sees
every row up to that count without a lock. Slot 0 of the index is a null row: pointers
to "nobody" are 0 and every score there is 0.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

Kind = TypeVar("Kind", bound=np.generic)


class Column(Generic[Kind]):
    """One growing array, by row on its last axis."""

    def __init__(self, dtype: DTypeLike, room: int = 1024, words: int | None = None) -> None:
        shape = (room,) if words is None else (words, room)
        self.data: NDArray[Kind] = np.zeros(shape, dtype)

    def reserve(self, rows: int) -> None:
        """Make room for at least this many rows; new ones are zero."""
        room = self.data.shape[-1]
        if rows <= room:
            return
        larger = np.zeros((*self.data.shape[:-1], max(rows, 2 * room)), self.data.dtype)
        larger[..., :room] = self.data
        self.data = larger

    @property
    def nbytes(self) -> int:
        return self.data.nbytes
