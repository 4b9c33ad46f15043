"""Embeds a text as the normalised sum of its word-piece vectors.

The table holds 8-bit integers with a power-of-two scale per row, so sums are exact in
integers: the same text gives the same bits alone, in any batch and in any order of
work. No text is special: the empty one is a lone space, which has a vector like any
other piece. Only the first ``CONSIDERED_CHARACTERS`` of a text count, which bounds the
time; a mean over more pieces than that no longer tells texts apart.

The table is loaded on first use. Large batches are computed in a thread, so that an
import does not hold up the event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from waypost.embed.static.pieces import SPACE, PieceMemo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from waypost.embed.port import Vectors

CONSIDERED_CHARACTERS = 65_536
_INLINE_CHARACTERS = 20_000
_SLICE_PIECES = 4_096
"""How many rows are gathered at a time, so that a long text needs little memory."""


class StaticEmbedder:
    """The local default: no key, no download, no model to run."""

    name = "waypost-static-1"
    dimension = 256

    def __init__(self) -> None:
        self._table: _Table | None = None
        self._loading = threading.Lock()

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if sum(map(len, texts)) <= _INLINE_CHARACTERS:
            return self.embed(texts)
        return await asyncio.to_thread(self.embed, texts)

    async def embed_query(self, text: str) -> Vectors:
        rows = await self.embed_documents([text])
        return rows.reshape(self.dimension)

    async def aclose(self) -> None:
        """Nothing is held open."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text; the same as ``embed_documents``, for blocking code."""
        return self._loaded().embed(texts)

    def _loaded(self) -> _Table:
        if self._table is None:
            with self._loading:
                if self._table is None:
                    self._table = _Table()
        return self._table


class _Table:
    """The rows of all pieces as 16-bit integers, and the way from a text to its rows."""

    def __init__(self) -> None:
        import numpy as np

        with files("waypost.embed.static").joinpath("vectors.npz").open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            vocabulary = archive["vocabulary"].tobytes().decode().split("\n")
            shifts = archive["shifts"].astype(np.int16)
            self._rows = archive["rows"].astype(np.int16)
        self._rows <<= shifts[:, None]
        self._blank = self._rows[vocabulary.index(SPACE)]
        self._memo = PieceMemo(vocabulary)

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        sums = np.zeros((len(texts), self._rows.shape[1]), dtype=np.int32)
        for text, total in zip(texts, sums, strict=True):
            pieces = self._memo.pieces(text[:CONSIDERED_CHARACTERS])
            self._add_up(np.frombuffer(pieces, dtype="<u2"), total)
        return self._unit(sums)

    def _add_up(self, pieces: NDArray[np.uint16], total: NDArray[np.int32]) -> None:
        import numpy as np

        for start in range(0, len(pieces), _SLICE_PIECES):
            rows = self._rows.take(pieces[start : start + _SLICE_PIECES], axis=0)
            total += np.add.reduce(rows, axis=0, dtype=np.int32)

    def _unit(self, sums: NDArray[np.int32]) -> Vectors:
        import numpy as np

        values = sums.astype(np.float64)
        squares = np.einsum("ij,ij->i", values, values)
        if not squares.all():
            # Pieces that cancel out exactly are as good as no text: they get the blank's direction.
            sums[squares == 0] = self._blank
            return self._unit(sums)
        values /= np.sqrt(squares)[:, None]
        return values.astype(np.float32)
