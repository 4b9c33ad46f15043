"""Tokens: values whole, forms that compare."""

from __future__ import annotations

import pytest

from waypost.stages.compress.words import stem, tokenize


@pytest.mark.parametrize(
    ("text", "kind", "form"),
    [
        ("https://example.org/a?b=1", "url", "https://example.org/a?b=1"),
        ("dana@example.org", "email", "dana@example.org"),
        ("2026-05-20T10:00:00Z", "date", "2026-05-20t10:00:00z"),
        ("May 20, 2026", "date", "2026-05-20"),
        ("20 May 2026", "date", "2026-05-20"),
        ("/srv/data/x.csv", "path", "/srv/data/x.csv"),
        ("src/app/main.py", "path", "src/app/main.py"),
        ("OPS-412", "id", "ops-412"),
        ("user_3668", "id", "user_3668"),
        ("v1.2.3", "id", "v1.2.3"),
        ("550e8400-e29b-41d4-a716-446655440000", "id", "550e8400-e29b-41d4-a716-446655440000"),
        ("10,000", "number", "10000"),
        ("41.50", "number", "41.5"),
        ("pool_size", "symbol", "pool_size"),
        ("KeyError", "symbol", "keyerror"),
        ("invoices", "word", "invoic"),
    ],
)
def test_one_thing_is_one_token(text: str, kind: str, form: str) -> None:
    (token,) = tokenize(text)
    assert (token.kind, token.form) == (kind, form)


@pytest.mark.parametrize(("text", "unit"), [("$250", "$"), ("30%", "%"), ("12ms", "ms"), ("7", "")])
def test_a_number_carries_its_unit(text: str, unit: str) -> None:
    (token,) = tokenize(text)
    assert token.unit == unit


@pytest.mark.parametrize(
    ("one", "other"),
    [("failed", "failing"), ("cities", "city"), ("logs", "log"), ("moved", "move")],
)
def test_forms_of_one_word_are_equal(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_negation_is_noticed_also_when_it_is_contracted() -> None:
    assert [
        token.text for token in tokenize("don't and never, not even cannot") if token.negates
    ] == [
        "don't",
        "never",
        "not",
        "cannot",
    ]
