"""Checks what a server sent as embeddings and makes unit rows of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from waypost.exceptions import DimensionMismatch, ProviderError

if TYPE_CHECKING:
    from waypost.embed.port import Vectors

Row = Sequence[float] | bytes
"""Numbers, or the same as packed little-endian 32-bit floats."""


def unit_rows(rows: Sequence[Row], *, dimension: int, name: str) -> Vectors:
    """Return the rows as one float32 matrix of unit vectors, or say what is wrong with them."""
    import numpy as np

    matrix = np.empty((len(rows), dimension), dtype=np.float64)
    for place, row in enumerate(rows):
        values = _numbers(row, name)
        if values.shape != (dimension,):
            raise DimensionMismatch(
                f"{name} returned vectors of {values.size} dimensions, but {dimension} are "
                "configured and stored; set the embedder's dimension, or re-embed",
                expected=dimension,
                actual=values.size,
            )
        matrix[place] = values
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ProviderError(f"{name} returned a vector of zeros or of values that are not numbers")
    unit: Vectors = (matrix / lengths).astype(np.float32)
    return unit


def _numbers(row: Row, name: str) -> Vectors:
    import numpy as np

    try:
        if isinstance(row, bytes):
            return np.frombuffer(row, dtype="<f4").astype(np.float32)
        return np.asarray(row, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ProviderError(f"{name} returned an embedding that is not a row of numbers") from error


def batches(texts: Sequence[str], *, count: int, characters: int) -> Iterator[Sequence[str]]:
    """Cut the texts into runs of at most so many texts and characters, at least one text each."""
    start, size = 0, 0
    for place, text in enumerate(texts):
        if place > start and (place - start >= count or size + len(text) > characters):
            yield texts[start:place]
            start, size = place, 0
        size += len(text)
    if start < len(texts):
        yield texts[start:]
