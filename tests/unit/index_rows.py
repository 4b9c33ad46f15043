"""Rows for the tests of the index: a text is enough, the rest has defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from waypost.encode.terms import analyze
from waypost.index import AgentIndex, IndexRow, Query


def row(row_id: int, text: str, **details: Any) -> IndexRow:
    details.setdefault("timestamp", 1_000_000.0 + 60 * row_id)
    return IndexRow(row_id, analyze(text), **details)


def filled(*texts: str, **details: Any) -> AgentIndex:
    """An index with these texts as rows 1, 2, 3, ..."""
    index = AgentIndex()
    index.add(row(number, text, **details) for number, text in enumerate(texts, 1))
    return index


def ask(index: AgentIndex, text: str, **details: Any) -> list[int]:
    return index.candidates(Query(analyze(text), **details)).row_ids.tolist()


def unit_vectors(count: int, dimension: int, seed: int = 1) -> NDArray[np.float32]:
    made = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)
