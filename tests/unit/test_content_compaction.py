from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.content.citation import cite
from waypost.content.compaction import BUILT_IN, choose, compact, fit_lines
from waypost.content.compaction.base import Compacted
from waypost.content.markup import page_text, read_page
from waypost.content.material import Material, material_of, material_of_chunks, readable_size
from waypost.tokens import count_tokens

PAGE = """<!DOCTYPE html><html><head><title>Bridges &amp; Rivers</title>
<meta name="description" content="All about bridges"><style>p {color: red}</style></head>
<body><nav><a href="/home">Home</a></nav><h1>The Old Bridge</h1>
<p>The old bridge was built in 1874 by a company that had never built one before, and it stands.</p>
<script>var secret = "do not show";</script><h2>Visiting</h2><p>Open daily.</p></body></html>"""

SEARCH = json.dumps(
    {
        "query": "old bridge",
        "results": [
            {"title": "The Old Bridge", "url": "https://example.org/bridge", "snippet": "1874"},
            {"title": "River", "url": "https://example.org/river", "snippet": "long"},
        ],
    }
)

CSV = "id,name,price\n" + "\n".join(f"{n},part {n},{n * 1.5}" for n in range(1, 60))

LOG = "\n".join(
    [f"2026-01-01 10:00:{n % 60:02d} INFO request {n} served in {n % 7} ms" for n in range(200)]
    + ["2026-01-01 10:05:00 ERROR disk /dev/sda1 is full", "2026-01-01 10:05:01 INFO bye"]
)

SOURCE = '''"""Prices."""
import decimal

RATE = 3

class Basket:
    def total(self):
        return 1

def discount(basket):
    return basket
'''

DIFF = """diff --git a/app/prices.py b/app/prices.py
--- a/app/prices.py
+++ b/app/prices.py
@@ -10,3 +10,4 @@ def total():
-    return 1
+    return 2
+    # checked
"""

EMAIL = """From: Ada <ada@example.org>
To: Grace <grace@example.org>
Subject: Engine delivery
Date: Mon, 5 Jan 2026 10:00:00 +0000

The engine arrives on Friday.

On Sun, 4 Jan 2026 Grace wrote:
> When does it arrive?
"""

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + struct.pack(">II", 640, 480) + b"\x00" * 50


@pytest.mark.parametrize(
    ("content", "kind", "kept"),
    [
        (PAGE, "web page", "1874"),
        (SEARCH, "search results", "https://example.org/river"),
        (CSV, "rows", "id, name, price"),
        (json.dumps({"order": {"id": "A-77", "lines": [1, 2]}}), "json", "A-77"),
        (LOG, "log", "disk /dev/sda1 is full"),
        (SOURCE, "source file", "class Basket"),
        (DIFF, "diff", "app/prices.py +2 -1"),
        (EMAIL, "email", "arrives on Friday"),
        (PNG, "binary", "640 × 480"),
        ("Just a few words about nothing in particular.", "text", "a few words"),
    ],
)
def test_each_kind_finds_its_plugin_and_keeps_what_matters(
    content: str | bytes, kind: str, kept: str
) -> None:
    material = material_of(content)
    assert choose(material).name == kind
    assert kept in "\n".join(compact(material).lines)


def test_a_declared_type_decides_when_the_text_does_not_tell() -> None:
    assert choose(material_of("a b", media_type="text/html; charset=utf-8")).name == "web page"
    assert choose(material_of("x", media_type="text/x-diff")).name == "diff"
    assert choose(material_of("{", media_type="application/json")).name == "json"


def test_a_page_loses_scripts_styles_and_markup() -> None:
    text = page_text(PAGE)
    assert "secret" not in text
    assert "color" not in text
    assert "Open daily." in text
    page = read_page(PAGE)
    assert page.title == "Bridges & Rivers"
    assert page.headings == ["The Old Bridge", "Visiting"]
    assert page.links == [("Home", "/home")]


def test_a_citation_names_id_kind_size_what_was_kept_and_how_to_open_it() -> None:
    citation = cite("c-k7m2x", material_of(PAGE, source="visit"), token_count=300, tokens=120)
    assert "c-k7m2x" in citation.text
    assert "web page “Bridges & Rivers” from visit" in citation.text
    assert f"({readable_size(len(PAGE))}, 300 tokens)" in citation.text
    assert "kept headings" in citation.text
    assert 'retrieve_from_memory(id="c-k7m2x")' in citation.text


@pytest.mark.parametrize("content", [PAGE, SEARCH, CSV, LOG, SOURCE, DIFF, EMAIL])
def test_a_citation_keeps_to_its_tokens(content: str) -> None:
    citation = cite("c-k7m2x", material_of(content), token_count=1, tokens=100)
    assert citation.tokens <= 100


def test_names_that_the_lines_leave_out_are_listed() -> None:
    text = "Nothing here.\n\nMore.\n\nThe key is certificate_7504069.\n\nDone.\n\nEnd of it all."
    citation = cite("c-k7m2x", material_of(text), token_count=1, tokens=160)
    assert "certificate_7504069" in citation.text


def test_a_table_is_told_by_columns_rows_and_ranges() -> None:
    compacted = compact(material_of(CSV))
    assert compacted.what == "table of 59 rows, 3 columns"
    assert any("price 1.5…88.5" in line for line in compacted.lines)


def test_a_repeated_log_line_is_shown_once_with_its_count() -> None:
    lines = compact(material_of(LOG)).lines
    assert lines[0].endswith("disk /dev/sda1 is full")
    assert any("more like it" in line for line in lines)


def test_a_plugin_of_another_package_is_used_and_may_fail() -> None:
    class Loud:
        name = "loud"

        def confidence(self, material: Material) -> float:
            return 2.0

        def compact(self, material: Material) -> Compacted:
            if "boom" in material.head:
                raise RuntimeError("boom")
            return Compacted("shout", (material.head.upper(),), "everything")

    plugins = (Loud(), *BUILT_IN)
    assert compact(material_of("hello"), plugins).lines == ("HELLO",)
    assert compact(material_of("boom"), plugins).what == "text"


def test_lines_are_cut_to_exactly_the_budget() -> None:
    text, whole = fit_lines(["one two three four five six seven"] * 50, 40)
    assert not whole
    assert 20 < count_tokens(text) <= 40


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=3000))
def test_no_bytes_make_a_plugin_fail(data: bytes) -> None:
    material = material_of_chunks([data])
    assert cite("c-k7m2x", material, token_count=1).text
    for plugin in BUILT_IN:
        plugin.confidence(material)
        plugin.compact(material)


_MARKUP = st.sampled_from(
    [
        *("<", ">", "</", "<!--", "-->", "<script", "</script>", "<p", "<a href=", '"', "'"),
        *("&amp", "&#x", "<table>", "<td", "<![CDATA[", "<h1>", "</h1>", "=", "/", "text "),
    ]
)
_JSONISH = st.sampled_from(["{", "}", "[", "]", '"a"', ":", ",", "1", "null", '"', "\\", " ", "\n"])
_LINES = st.sampled_from(
    [
        *("@@ -1 +1 @@\n", "+++ b/x\n", "--- a/x\n", "From: a\n", "To: b\n", "Subject: c\n"),
        *("a,b\n", ",\n", "def f(\n", "|a|b|\n", "|--|\n", "> q\n", "\t\n", '"\n'),
        "2026-01-01 10:00:00 ERROR x\n",
    ]
)


@settings(max_examples=80, deadline=None)
@given(st.lists(_MARKUP | _JSONISH | _LINES, max_size=120).map("".join))
def test_no_broken_text_makes_a_plugin_fail(text: str) -> None:
    material = material_of(text)
    for plugin in BUILT_IN:
        plugin.confidence(material)
        assert isinstance(plugin.compact(material).lines, tuple)
    first = cite("c-k7m2x", material, token_count=1)
    assert first == cite("c-k7m2x", material, token_count=1)


@pytest.mark.parametrize(
    "text",
    [
        "<" * 300_000,
        "<!--" * 100_000,
        "<a " * 100_000,
        "<script>" * 50_000,
        "[" * 300_000,
        '{"a":' * 60_000,
        "a," * 200_000,
        "x" * 500_000,
        "a/" * 200_000,
        "> " * 200_000,
        "a@" * 200_000,
        "|" * 300_000,
    ],
    ids=lambda text: text[:4],
)
def test_hostile_text_is_cited_like_any_other(text: str) -> None:
    citation = cite("c-k7m2x", material_of(text), token_count=1, tokens=120)
    assert citation.tokens <= 120
