from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.encode.entities import MAX_ENTITIES
from waypost.encode.keywords import MAX_KEYWORDS
from waypost.encode.stop_words import STOP_WORDS
from waypost.encode.text import encode
from waypost.model import NewMemory

LONG = (
    "Hello there, thanks for waiting. We looked at many things this morning and talked a lot. "
    "In the end we decided to move billing to Postgres 16 because MySQL lost 14 rows. "
    "It was a long day and everyone went home rather late, tired but happy about how it all went."
)


def test_a_short_text_is_its_own_summary() -> None:
    assert encode("The  build\nis green.").summary == "The build is green."


def test_the_summary_of_a_long_text_is_its_most_telling_sentence() -> None:
    summary = encode(LONG).summary
    assert "decided to move billing to Postgres 16" in summary
    assert len(summary.split()) <= 31


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("Yesterday we met Alice in the office.", "Alice"),
        ("We flew to New York City.", "New York City"),
        ("We moved to Postgres 16 at last.", "Postgres 16"),
        ("Open src/waypost/tokens.py and look.", "src/waypost/tokens.py"),
        ("The log is in /var/log/app.log now.", "/var/log/app.log"),
        ("See https://example.org/a?b=1 for more.", "https://example.org/a?b=1"),
        ("Write to ann.lee@example.org please.", "ann.lee@example.org"),
        ("the order ORD-1234 is late", "ORD-1234"),
        ("call parse_config() first", "parse_config()"),
        ("the MemoryManager class", "MemoryManager"),
        ("we run 3.11.4 here", "3.11.4"),
        ('a book called "The Long Way" today', "The Long Way"),
        ("Carol's laptop and the car of Carol", "Carol"),
    ],
)
def test_names_are_found(text: str, entity: str) -> None:
    assert entity in encode(text).entities


@pytest.mark.parametrize(
    "text", ["Running late today.", "Thanks. What a day! Maybe later.", "I am."]
)
def test_a_capital_at_the_start_of_a_sentence_makes_no_name(text: str) -> None:
    assert encode(text).entities == ()


def test_a_word_at_the_start_counts_when_it_is_a_name_elsewhere() -> None:
    assert encode("Melanie came. I like what Melanie said.").entities == ("Melanie",)


def test_keywords_are_telling_and_never_stop_words() -> None:
    keywords = encode(LONG).keywords
    assert "postgres 16" in keywords
    assert len(keywords) <= MAX_KEYWORDS
    assert STOP_WORDS.isdisjoint(keywords)


@pytest.mark.parametrize(
    "text",
    ["a" * 1_000_000, "/a" * 400_000, "A b. " * 200_000, "the x is 1. " * 80_000, '"' * 500_000],
    ids=["one word", "one path", "sentences", "facts", "quotes"],
)
def test_a_very_long_text_gives_a_bounded_result(text: str) -> None:
    encoded = encode(text)
    assert len(encoded.summary) <= 240
    assert len(encoded.entities) <= MAX_ENTITIES
    assert len(encoded.facts) <= 16


_WORDS = (
    "the", "port", "is", "my", "8443", "Alice", "'s", "=", ":", "to", "from", ".", "\n", "changed",
    "name", "no longer", "but", "I", "live in", "`", '"', "a_b", "/x/y",
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(st.text(max_size=300), st.lists(st.sampled_from(_WORDS), max_size=30).map(" ".join))
)
def test_any_text_encodes_the_same_way_twice_into_storable_values(text: str) -> None:
    encoded = encode(text)
    assert encoded == encode(text)
    NewMemory(
        content="x",
        summary=encoded.summary,
        entities=encoded.entities,
        facts=encoded.facts,
        keywords=encoded.keywords,
    )
