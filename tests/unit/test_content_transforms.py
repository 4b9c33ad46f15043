from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.content.transforms import Source, View, apply, source_of
from waypost.exceptions import InvalidInput
from waypost.model import Transform, TransformType
from waypost.tokens import count_tokens

LINES = "\n".join(f"line {n}: the {'red' if n % 10 == 0 else 'blue'} boat" for n in range(1, 101))
ORDERS = json.dumps(
    {"orders": [{"id": f"A-{n}", "total": n * 10, "to": {"city": "Oslo"}} for n in range(1, 6)]}
)


def read(text: str, kind: str, **params: Any) -> View:
    return apply(Transform(type=TransformType(kind), params=params), source_of(text))


def test_full_gives_everything() -> None:
    assert read(LINES, "full") == View(LINES)


def test_full_stops_at_its_tokens_and_says_so() -> None:
    view = read(LINES, "full", max_tokens=50)
    assert LINES.startswith(view.text)
    assert count_tokens(view.text) <= 50
    assert view.truncated
    assert "cut after 50 tokens" in (view.note or "")


def test_first_and_last_count_lines_characters_or_tokens() -> None:
    assert read(LINES, "first_n", n=2).text == "\n".join(LINES.splitlines()[:2])
    assert read(LINES, "last_n", n=2).text == "\n".join(LINES.splitlines()[-2:])
    assert read(LINES, "first_n", n=5, unit="characters").text == LINES[:5]
    assert read(LINES, "last_n", n=5, unit="characters").text == LINES[-5:]
    assert count_tokens(read(LINES, "first_n", n=7, unit="tokens").text) == 7
    last = read(LINES, "last_n", n=7, unit="tokens").text
    assert LINES.endswith(last)
    assert 5 <= count_tokens(last) <= 7


def test_an_excerpt_starts_where_asked_or_around_a_text() -> None:
    assert read(LINES, "excerpt", start=5, length=10).text == LINES[5:15]
    around = read(LINES, "excerpt", around="LINE 50:", length=60)
    assert "line 50: the red boat" in around.text
    assert "of 2," in (around.note or "")


def test_an_excerpt_around_nothing_says_so() -> None:
    assert "does not occur" in (read(LINES, "excerpt", around="submarine").note or "")


def test_a_summary_is_the_compaction_with_more_room() -> None:
    view = read(LINES, "summary", max_tokens=60)
    assert count_tokens(view.text) <= 60
    assert "text of 100 lines" in view.text


def test_a_path_picks_values_out_of_json() -> None:
    assert read(ORDERS, "filtered", path="orders[1].id").text == "A-2"
    assert read(ORDERS, "filtered", path="$.orders[-1].to.city").text == "Oslo"
    listed = read(ORDERS, "filtered", path="orders[*].total").text
    assert listed.splitlines()[0] == "orders[0].total: 10"


def test_a_path_to_nothing_names_the_keys_there_are() -> None:
    with pytest.raises(InvalidInput, match="id, total, to"):
        read(ORDERS, "filtered", path="orders[*].price")


def test_a_regex_gives_numbered_lines_and_their_context() -> None:
    assert read(LINES, "filtered", regex="red").text.splitlines()[0] == "10: line 10: the red boat"
    assert len(read(LINES, "filtered", regex="r.d b+oat", limit=3).text.splitlines()) == 3
    around = read(LINES, "filtered", regex="^line 50", context=1).text.splitlines()
    assert [line[:3] for line in around] == ["49-", "50:", "51-"]


def test_a_regex_searches_all_of_a_very_long_line() -> None:
    text = json.dumps([{"id": f"item-{n}", "note": "x" * 50} for n in range(2000)])
    for pattern in ("item-1999", "item-1[9]{3}"):
        view = read(text, "filtered", regex=pattern)
        assert "item-1999" in view.text
        assert count_tokens(view.text) < 2000


def test_a_regex_that_would_never_end_is_stopped() -> None:
    with pytest.raises(InvalidInput, match="took longer than"):
        read("a" * 40 + "b", "filtered", regex="(a+)+$")


@pytest.mark.parametrize("bad", ["(", "[a", "*", "a{2,1}"])
def test_a_broken_regex_is_explained(bad: str) -> None:
    with pytest.raises(InvalidInput, match="is not a regular expression"):
        read(LINES, "filtered", regex=bad)


def test_columns_are_taken_from_csv_and_from_json_rows() -> None:
    assert read("a,b,c\n1,2,3\n4,5,6", "filtered", columns=["C", "a"]).text == "C | a\n3 | 1\n6 | 4"
    rows = json.dumps([{"id": 1, "name": "x"}, {"id": 2, "name": "y"}])
    assert read(rows, "filtered", columns=["name"]).text == "name\nx\ny"


def test_an_unknown_column_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="there are a, b, c"):
        read("a,b,c\n1,2,3\n4,5,6", "filtered", columns=["d"])


def test_a_question_finds_the_passages_that_answer_it() -> None:
    text = "\n\n".join([f"Paragraph {n} about the weather." for n in range(50)])
    text += "\n\nThe lighthouse keeper was called Ingrid Solberg."
    view = read(text, "filtered", question="What was the name of the lighthouse keeper?")
    assert "Ingrid Solberg" in view.text
    assert count_tokens(view.text) < 400


def test_a_question_to_a_web_page_is_answered_without_its_markup() -> None:
    blocks = "".join(f"<p class='q{n}'>Nothing about ships in part {n}.</p>" for n in range(40))
    page = f"<html><title>Ships</title><p>The <b>ferry</b> sank in 1911.</p>{blocks}</html>"
    view = read(page, "filtered", question="When did the ferry sink?")
    assert "The ferry sank in 1911." in view.text
    assert "<" not in view.text
    assert "part 39" not in view.text


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("first_n", {"count": 3}, "its parameters are max_tokens, n, unit"),
        ("first_n", {"n": 0}, "n: "),
        ("first_n", {"unit": "pages"}, "lines"),
        ("filtered", {}, "exactly one of path, regex, columns or question"),
        ("filtered", {"regex": "a", "path": "b"}, "exactly one"),
        ("filtered", {"path": "a..[b"}, "cannot read the path"),
        ("excerpt", {"length": "long"}, "length"),
    ],
)
def test_wrong_parameters_are_answered_with_the_right_ones(
    kind: str, params: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        read(ORDERS, kind, **params)


def test_a_path_into_json_too_deep_to_read_is_refused() -> None:
    with pytest.raises(InvalidInput, match="a path needs JSON"):
        read("[" * 100_000, "filtered", path="[0]")


_PARAMS = st.sampled_from(
    [
        ("full", {}),
        ("full", {"max_tokens": 7}),
        ("excerpt", {"start": 3, "length": 9}),
        ("excerpt", {"around": "a"}),
        ("summary", {"max_tokens": 40}),
        ("first_n", {"n": 2}),
        ("last_n", {"n": 3, "unit": "tokens"}),
        ("last_n", {"n": 2}),
        ("filtered", {"regex": "a"}),
        ("filtered", {"question": "what is a b?"}),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=400), _PARAMS, st.integers(1, 9))
def test_a_text_in_pieces_reads_like_a_whole_one(
    text: str, chosen: tuple[str, dict[str, Any]], size: int
) -> None:
    kind, params = chosen
    whole = source_of(text)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    cut = Source(whole.material, lambda: iter(pieces), len(text))
    transform = Transform(type=TransformType(kind), params=params)
    assert apply(transform, cut) == apply(transform, whole)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=2000), _PARAMS)
def test_no_view_is_longer_than_its_tokens(text: str, chosen: tuple[str, dict[str, Any]]) -> None:
    view = read(text, chosen[0], **chosen[1])
    assert count_tokens(view.text) <= chosen[1].get("max_tokens", 8000)
