"""What a text can be found by."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from waypost.encode.terms import analyze, indexed_text


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The runners were running", ["runner", "run"]),
        ("Anna's plan doesn't hold", ["anna", "plan", "hold"]),
        ("O’Brien isn’t here", ["o", "brien"]),
        ("a café in Zürich", ["cafe", "zurich"]),
        ("1,250 euros", ["1250", "euro"]),
        ("self-care", ["self", "care"]),
    ],
)
def test_words_are_folded_stemmed_and_freed_of_stop_words(text: str, terms: list[str]) -> None:
    assert analyze(text) == terms


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("max_retry_count", {"max_retry_count", "max", "retri", "count"}),
        ("HTTPServerError", {"httpservererror", "http", "server", "error"}),
        ("src/waypost/open.py", {"src/waypost/open.py", "src", "waypost", "open", "py"}),
        ("v2.14.3", {"v2.14.3", "v", "2", "14", "3"}),
        ("TICKET-1234", {"ticket-1234", "ticket", "1234"}),
        ("ops@example.org", {"ops@example.org", "op", "exampl", "org"}),
    ],
)
def test_identifiers_are_found_whole_and_by_their_parts(identifier: str, parts: set[str]) -> None:
    assert set(analyze(f"see {identifier}!")) >= parts


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("私は東京に住んでいます", "東京"),
        ("मैं हिन्दी बोलता हूँ", "हिन्दी"),
        ("เมื่อวานไปตลาด", "ตลาด"),
        ("Встреча в Москве завтра", "Москве"),
        ("우리는 서울에서 만났다", "서울"),
    ],
)
def test_every_script_can_be_found(stored: str, asked: str) -> None:
    assert set(analyze(asked)) & set(analyze(stored))


def test_terms_hold_no_white_space_and_have_a_bounded_length() -> None:
    terms = analyze("a" * 500 + " x\u00a0y " + "ab_" * 300 + "\u3042" * 50)
    assert terms
    assert all(term and len(term) <= 64 and not any(c.isspace() for c in term) for term in terms)


def test_the_same_text_gives_the_same_terms_every_time() -> None:
    text = "Deploy build-42 to staging_eu on 2026-03-01, please"
    assert analyze(text) == analyze(text)


def test_nothing_but_signs_gives_no_terms() -> None:
    assert analyze("… !? 🎉 \n") == []


def test_indexed_text_says_when_and_who_before_what() -> None:
    moment = datetime(2026, 5, 8, 13, 0, tzinfo=UTC)
    assert indexed_text("Ship it.", "Ada", moment) == "(8 May 2026) Ada: Ship it."
    assert indexed_text("Ship it.") == "Ship it."
    assert indexed_text("Ship it.", None, moment) == "(8 May 2026) Ship it."
