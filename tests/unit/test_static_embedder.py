from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from waypost.embed.static import StaticEmbedder
from waypost.embed.static.embedder import CONSIDERED_CHARACTERS

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "static_vectors.json").read_text("utf-8")
)["texts"]


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    return StaticEmbedder()


@pytest.mark.parametrize("case", REFERENCE, ids=lambda case: case["text"][:24])
def test_vectors_agree_with_the_model_they_were_made_from(
    embedder: StaticEmbedder, case: dict[str, object]
) -> None:
    (ours,) = embedder.embed([str(case["text"])])
    theirs = np.array(case["vector"])
    assert ours @ theirs / np.linalg.norm(theirs) >= 0.995


def test_the_shipped_table_is_small_and_the_one_the_script_builds() -> None:
    content = files("waypost.embed.static").joinpath("vectors.npz").read_bytes()
    assert len(content) < 9_000_000
    assert hashlib.sha256(content).hexdigest() == (
        "af589ebe95d7c8c350f93412faddea017ab124b773fb68ceb88d9831c3e57335"
    )


def test_two_embedders_give_the_same_bits(embedder: StaticEmbedder) -> None:
    texts = [str(case["text"]) for case in REFERENCE]
    assert StaticEmbedder().embed(texts).tobytes() == embedder.embed(texts).tobytes()


def test_a_vector_does_not_depend_on_what_was_embedded_before(embedder: StaticEmbedder) -> None:
    before = embedder.embed(["the memo starts over"]).tobytes()
    embedder.embed(
        [
            " ".join(f"{number:x}" for number in range(start, start + 6_000))
            for start in range(0, 72_000, 6_000)
        ]
    )
    assert embedder.embed(["the memo starts over"]).tobytes() == before


def test_meaning_counts_and_not_only_shared_words(embedder: StaticEmbedder) -> None:
    car, cat, vehicle = embedder.embed(["a fast car", "a lazy cat", "automobile"])
    assert car @ vehicle > cat @ vehicle


def test_empty_and_blank_texts_have_the_vector_of_a_blank(embedder: StaticEmbedder) -> None:
    empty, word = embedder.embed(["", "word"])
    assert np.linalg.norm(empty) == pytest.approx(1.0, abs=1e-6)
    assert empty @ word < 0.9


@pytest.mark.parametrize("unit", ["a", " ", "word ", "日本", "😀", "\n", "_-", "\ud800"])
def test_text_beyond_the_considered_part_changes_nothing(
    embedder: StaticEmbedder, unit: str
) -> None:
    text = unit * (CONSIDERED_CHARACTERS // len(unit) + 1)
    cut = text[:CONSIDERED_CHARACTERS]
    longer = cut + "and something else entirely"
    assert embedder.embed([cut]).tobytes() == embedder.embed([longer]).tobytes()


async def test_a_large_batch_gives_the_same_rows_as_single_texts(
    embedder: StaticEmbedder,
) -> None:
    texts = [f"note {number} about the deployment of service {number % 7}" for number in range(900)]
    rows = await embedder.embed_documents(texts)
    assert rows[777].tobytes() == (await embedder.embed_query(texts[777])).tobytes()


def test_naming_the_ports_loads_neither_numpy_nor_the_http_library() -> None:
    code = "import sys, waypost.embed, waypost.chat; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"numpy", "httpx2"} & set(run.stdout.split())
