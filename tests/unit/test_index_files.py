"""A saved index is a cache: right when it is whole, and None whenever it is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.index_rows import ask, filled, row, unit_vectors
from waypost.index import AgentIndex, Query


@pytest.fixture
def saved(tmp_path: Path) -> tuple[AgentIndex, Path]:
    vectors = unit_vectors(40, 96)
    index = AgentIndex()
    index.add(
        row(n, f"apple {n}", vector=vectors[n - 1] if n % 3 else None, episode=names[n % 4])
        for names in [["run\n1", "läufe", None, "x"]]
        for n in range(1, 41)
    )
    index.remove([7])
    index.set_active([8], False)
    path = tmp_path / "agent.index"
    index.save(path, watermark=41, embedder="local")
    return index, path


def test_a_loaded_index_answers_like_the_one_saved(saved: tuple[AgentIndex, Path]) -> None:
    index, path = saved
    loaded = AgentIndex.load(path, embedder="local")
    assert loaded is not None
    other, watermark = loaded
    assert watermark == 41
    assert len(other) == len(index) == 39
    query = Query(["appl", "12"], unit_vectors(40, 96)[3], limit=50)
    one, two = index.candidates(query), other.candidates(query)
    assert one.row_ids.tolist() == two.row_ids.tolist()
    assert np.array_equal(one.relevance, two.relevance)


def test_a_loaded_index_goes_on_changing_without_touching_the_file(
    saved: tuple[AgentIndex, Path],
) -> None:
    _, path = saved
    before = path.read_bytes()
    loaded = AgentIndex.load(path, embedder="local")
    assert loaded is not None
    index, _ = loaded
    index.add(row(n, "pear", vector=unit_vectors(1, 96)[0], episode="x") for n in range(50, 90))
    index.add([row(1, "cherry", episode="läufe"), row(41, "plum")])
    index.remove([2])
    assert ask(index, "cherry")[0] == 1
    assert len(ask(index, "pear")) >= 40
    assert path.read_bytes() == before


def test_an_empty_index_can_be_saved_and_loaded(tmp_path: Path) -> None:
    AgentIndex(32).save(tmp_path / "empty", watermark=0, embedder="local")
    loaded = AgentIndex.load(tmp_path / "empty", embedder="local")
    assert loaded is not None
    assert len(loaded[0]) == 0
    assert ask(loaded[0], "anything") == []


def test_another_embedder_or_a_missing_file_means_build_anew(
    saved: tuple[AgentIndex, Path], tmp_path: Path
) -> None:
    assert AgentIndex.load(saved[1], embedder="other") is None
    assert AgentIndex.load(tmp_path / "missing", embedder="local") is None


def test_any_damage_means_build_anew(saved: tuple[AgentIndex, Path]) -> None:
    path = saved[1]
    whole = path.read_bytes()
    random = np.random.default_rng(5)
    noticed = 0
    for place in random.integers(0, len(whole), 60).tolist():
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :])
        noticed += AgentIndex.load(path, embedder="local") is None
    for length in (0, 5, 40, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert AgentIndex.load(path, embedder="local") is None
    path.write_bytes(b"something else entirely" * 10)
    assert AgentIndex.load(path, embedder="local") is None
    assert noticed > 30, "only the padding between arrays may be damaged unnoticed"


def test_a_failed_save_leaves_the_old_file(saved: tuple[AgentIndex, Path]) -> None:
    index, path = saved
    with pytest.raises(FileNotFoundError):
        index.save(path.parent / "no such folder" / "file", watermark=1, embedder="local")
    assert AgentIndex.load(path, embedder="local") is not None
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_forgotten_vectors_are_not_in_the_file(tmp_path: Path) -> None:
    vector = unit_vectors(1, 64)[0]
    index = filled("stays")
    index.add([row(2, "goes", vector=vector)])
    index.remove([2])
    index.save(tmp_path / "index", watermark=1, embedder="local")
    assert vector.astype(np.float16).tobytes() not in (tmp_path / "index").read_bytes()
