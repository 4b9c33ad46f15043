"""Ordering items by the direction of their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from waypost.exceptions import DimensionMismatch
from waypost.model.context import ContextItem


def nearest(
    items: Iterable[ContextItem], query_embedding: Sequence[float], limit: int
) -> list[ContextItem]:
    """The items with a vector, nearest to the query's first."""
    held = [item for item in items if item.embedding is not None]
    query = _unit(np.asarray(query_embedding, dtype=np.float64))
    for item in held:
        _check(item, len(query))
    scores = {item.context_item_id: _cosine(item, query) for item in held}
    held.sort(key=lambda item: (-round(scores[item.context_item_id], 9), item.context_item_id))
    return held[:limit]


def _check(item: ContextItem, dimension: int) -> None:
    if item.embedding is not None and len(item.embedding) != dimension:
        raise DimensionMismatch(
            f"the query has {dimension} dimensions, item {item.context_item_id} has "
            f"{len(item.embedding)}",
            expected=len(item.embedding),
            found=dimension,
        )


def _cosine(item: ContextItem, query: np.ndarray) -> float:
    return float(_unit(np.asarray(item.embedding, dtype=np.float64)) @ query)


def _unit(vector: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    if vector.ndim != 1 or not np.isfinite(length):
        raise DimensionMismatch("a vector is a row of finite numbers")
    return vector / length if length else vector
