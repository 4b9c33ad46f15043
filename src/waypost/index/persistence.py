"""Saving the parts of an index to a file, and putting them together again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from waypost.index import files
from waypost.index.postings import InvertedIndex, Segment
from waypost.index.state import IndexState
from waypost.index.vectors import BLOCK_ROWS, VectorColumn

_SEGMENT_PARTS = ("terms", "starts", "rows", "counts", "heads")


def save(state: IndexState, path: Path, *, watermark: int, embedder: str) -> None:
    """Write the state to a file; the caller keeps writers away meanwhile."""
    state.postings.flush()
    facts = {
        "watermark": watermark,
        "embedder": embedder,
        "count": state.count,
        "total_length": state.total_length,
        "dimension": None if state.vectors is None else state.vectors.dimension,
        "segments": len(state.postings.segments),
    }
    files.write(path, facts, {**_columns(state), **_text(state), **_vectors(state)})


def load(path: Path, *, embedder: str) -> tuple[IndexState, int] | None:
    """The state and watermark from a file; None when missing, damaged or of another embedder."""
    found = files.read(path)
    if found is None or found[0].get("embedder") != embedder:
        return None
    facts, arrays = found
    state = IndexState(facts["dimension"])
    state.count, state.total_length = facts["count"], facts["total_length"]
    _read_columns(state, arrays)
    _read_text(state, arrays, facts["segments"])
    if state.vectors is not None:
        _read_vectors(state.vectors, arrays)
    return state, facts["watermark"]


def _columns(state: IndexState) -> files.Arrays:
    arrays: files.Arrays = {n: c.data[: state.count] for n, c in state.columns().items()}
    first, last = state.episodes.ends
    names = state.episodes.names
    return arrays | {
        "episode_names": files.pack(names),
        "episode_first": np.array(first, np.int64),
        "episode_last": np.array(last, np.int64),
        "episode_lengths": state.episodes.lengths.data[: len(names)],
    }


def _text(state: IndexState) -> files.Arrays:
    arrays: files.Arrays = {"vocabulary": files.pack(list(state.vocabulary))}
    for number, segment in enumerate(state.postings.segments):
        for part in _SEGMENT_PARTS:
            arrays[f"{part}_{number}"] = getattr(segment, part)
    return arrays


def _vectors(state: IndexState) -> files.Arrays:
    vectors = state.vectors
    if vectors is None:
        return {}
    arrays: files.Arrays = {"bits": vectors.bits.data, "present": vectors.present.data}
    return arrays | {f"block_{number}": block for number, block in enumerate(vectors.blocks)}


def _read_columns(state: IndexState, arrays: files.Arrays) -> None:
    for name, column in state.columns().items():
        column.data = arrays[name]
    state.episodes.lengths.data = arrays["episode_lengths"]
    first, last = arrays["episode_first"].tolist(), arrays["episode_last"].tolist()
    state.episodes.restore(files.unpack(arrays["episode_names"]), first, last)
    alive = np.flatnonzero(arrays["live"])
    state.slots = dict(zip(arrays["row_ids"][alive].tolist(), alive.tolist(), strict=True))


def _read_text(state: IndexState, arrays: files.Arrays, segments: int) -> None:
    state.vocabulary = {word: n for n, word in enumerate(files.unpack(arrays["vocabulary"]))}
    parts = ([arrays[f"{part}_{n}"] for part in _SEGMENT_PARTS] for n in range(segments))
    state.postings = InvertedIndex(Segment(*part) for part in parts)


def _read_vectors(vectors: VectorColumn, arrays: files.Arrays) -> None:
    vectors.bits.data, vectors.present.data = arrays["bits"], arrays["present"]
    blocks = -(-arrays["present"].shape[-1] // BLOCK_ROWS)
    vectors.blocks = [arrays[f"block_{n}"] for n in range(blocks) if f"block_{n}" in arrays]
