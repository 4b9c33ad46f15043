"""The local engine: short, complete, supported, and the same every time."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.stages.compress import STAGE_TARGET, Source, Target, compress
from waypost.stages.compress.commands import expand
from waypost.tokens import count_tokens

FAILURE = "PoolTimeout: no free connection"


def log(lines: int) -> str:
    return "\n".join(
        f"2026-03-01 10:{i // 60 % 60:02}:{i % 60:02} INFO request id=r{i:05} took {i % 90} ms"
        for i in range(lines)
    )


def session() -> list[Source]:
    return [
        Source("goal", "We must keep the API backwards compatible.", personal=True),
        Source(
            "log",
            log(400) + "\n2026-03-01 10:09:59 ERROR PoolTimeout: no free connection",
            bulk=True,
        ),
        Source(
            "agent", "I raised pool_size to 40 and the error is fixed.", commands=("edit db.yaml",)
        ),
        Source("result", '{"status": "ok", "p95_ms": 41, "failed": 0}', bulk=True),
        Source("agent2", "We decided to use pool_size 40 in production."),
    ]


def test_a_long_log_becomes_one_line_with_its_count() -> None:
    summary = compress(session())
    assert summary.text.count("INFO request") == 1
    assert "×400" in summary.text
    assert summary.ratio > 50


def test_errors_decisions_constraints_and_commands_stay() -> None:
    text = compress(session()).text
    for kept in (
        "We must keep the API backwards compatible.",
        FAILURE,
        "the error is fixed",
        "edit db.yaml",
        "p95_ms 41",
        "We decided to use pool_size 40 in production.",
    ):
        assert kept in text


def test_retention_and_support_are_measured_and_reached() -> None:
    summary = compress(session())
    assert summary.report.retention >= 0.95
    assert summary.report.unsupported == ()
    assert summary.compressed_tokens == count_tokens(summary.text)


def test_every_line_names_the_source_it_was_cut_from() -> None:
    sources = {source.source_id: source for source in session()}
    for line in compress(session()).lines:
        assert line.source_ids
        assert all(name in sources for name in line.source_ids)


def test_a_line_said_twice_is_kept_once_with_both_sources() -> None:
    twice = [Source("a", "The limit is 30 requests."), Source("b", "The limit is 30 requests.")]
    (line,) = compress(twice).lines
    assert line.source_ids == ("a", "b")


def test_pinned_text_is_kept_word_for_word_whatever_it_costs() -> None:
    pinned = "Never write to the table ledger.\nAsk Dana before any restore."
    sources = [*session(), Source("pin", pinned, pinned=True, bulk=True)]
    summary = compress(sources, Target(ratio=1000.0, max_tokens=5))
    assert [line.text for line in summary.lines if line.pinned] == pinned.splitlines()
    assert summary.report.pinned_kept == 1.0


def test_when_the_ratio_cannot_be_had_the_summary_is_longer_and_says_so() -> None:
    dense = " ".join(f"Unit{i} sent {i * 13} crates to Port{i}." for i in range(1, 40))
    summary = compress([Source("dense", dense)])
    assert summary.report.retention >= 0.95
    assert summary.ratio < STAGE_TARGET.ratio
    assert summary.note is not None
    assert "95%" in summary.note


def test_the_same_sources_give_the_same_bytes() -> None:
    assert compress(session()).text == compress(session()).text


def test_nothing_to_compress_is_an_empty_summary() -> None:
    summary = compress([])
    assert summary.text == ""
    assert summary.report.retention == 1.0


def test_json_is_shown_as_keys_and_values() -> None:
    record = '{"order": {"id": "W42", "total": 250, "items": [{"sku": "A1", "count": 2}]}}'
    text = compress([Source("json", record, bulk=True)]).text
    assert "id W42" in text
    assert "{" not in text


def lookups(*ids: str) -> list[Source]:
    return [
        source
        for number, name in enumerate(ids)
        for source in (
            Source(f"call {number}", "", commands=(f"get_order order_id={name} full=true",)),
            Source(f"result {number}", f'{{"status": "shipped", "lines": {number}}}', bulk=True),
        )
    ]


def test_commands_that_differ_in_one_word_are_one_line_with_every_source() -> None:
    summary = compress(lookups("W1", "W7", "W9"))
    (line,) = [line for line in summary.lines if line.kind == "command"]
    assert line.text == "get_order order_id={W1,W7,W9} full=true"
    assert line.source_ids == ("call 0", "call 1", "call 2")
    assert summary.report.by_kind["command"] == (3, 3)


def test_a_joined_line_of_commands_can_be_taken_apart_again() -> None:
    assert expand("get_order order_id={W1,W7} full=true") == [
        "get_order order_id=W1 full=true",
        "get_order order_id=W7 full=true",
    ]
    assert expand('echo {"a": 1, "b": 2}') == ['echo {"a": 1, "b": 2}']


@pytest.mark.parametrize(
    "others",
    [("rm a.txt", "cp a.txt"), ("mv a b", "mv a"), ("mv a b", "mv c d"), ("echo a,b", "echo c")],
)
def test_other_commands_stay_apart(others: tuple[str, ...]) -> None:
    sources = [Source(str(n), "", commands=(text,)) for n, text in enumerate(others)]
    assert [line.text for line in compress(sources).lines] == list(others)


def test_a_command_that_a_page_shows_is_not_one_that_was_run() -> None:
    page = Source("page", "Install it:\n```sh\npip install sqlfluff\n```", bulk=True)
    assert all(line.kind != "command" for line in compress([page]).lines)
    said = Source("agent", "I install it.\n```sh\npip install sqlfluff\n```")
    assert any(line.kind == "command" for line in compress([said]).lines)


def test_data_inside_a_command_is_left_out_of_it() -> None:
    command = f"echo {'QUJD' * 200} | base64 -d > flag.txt"
    (line,) = compress([Source("agent", "", commands=(command,))]).lines
    assert line.text == "echo … | base64 -d > flag.txt"


def test_a_statement_in_other_words_is_kept_once() -> None:
    sources = [
        Source("1", "The report must list all totals in euros with two decimals."),
        Source("2", "So all totals in the report must be listed in euros with two decimals."),
        Source("3", "The report must not list the totals in euros with two decimals."),
    ]
    texts = [line.text for line in compress(sources).lines]
    assert sum("must not" in text for text in texts) == 1
    assert len(texts) == 2


def test_a_line_that_begins_with_a_negative_number_keeps_its_sign() -> None:
    lines = compress([Source("page", "Change today\n-0.19 (-0.49%)")]).lines
    assert "-0.19 (-0.49%)" in [line.text for line in lines]


@pytest.mark.parametrize(
    ("line", "is_error"),
    [
        ("PoolTimeout: request timed out", True),
        ("ERROR could not connect", True),
        ("bash: foo: command not found", True),
        (".error-navbar{top:0;width:100%;}", False),
        ("    raise ValueError('bad row')", False),
        ("except KeyError:", False),
        ('print("Error: " + message)', False),
    ],
)
def test_an_error_is_what_a_tool_reports_not_code_that_has_the_word(
    line: str, is_error: bool
) -> None:
    report = compress([Source("out", f"start of output\n{line}\nend", bulk=True)]).report
    assert ("error" in report.by_kind) is is_error


def test_courtesies_of_the_agent_are_left_out() -> None:
    polite = "Your order W42 was cancelled. If you need anything else, please let me know!"
    assert "let me know" not in compress([Source("agent", polite)]).text


def test_text_printed_as_a_string_literal_is_read_as_it_was_meant() -> None:
    printed = (
        r"Plan:\n1. We decided to use port 8443.\n2. We must ask Dana.\n3. Done by 2026-05-01."
    )
    lines = [line.text for line in compress([Source("log", printed)]).lines]
    assert "We decided to use port 8443." in lines
    assert not any("\\n" in line for line in lines)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "```", "{" * 300, "[" * 5000, "[1, 2", "\u200b" * 50, "A" * 100_000, "a-" * 30_000,
     "x@" * 20_000, "../" * 20_000, "1." * 20_000, "\ud83d\ude00" * 1000, "| " * 5000],
)  # fmt: skip
def test_hostile_text_is_compressed_like_any_other(text: str) -> None:
    summary = compress([Source("odd", text), Source("plain", "The limit is 30 requests.")])
    assert "The limit is 30 requests." in summary.text
    assert summary.report.unsupported == ()


WORDS = (
    "we decided must never found error /srv/a.log host-7 42 GB Alice Bob deploy cache "
    "2026-01-02 https://x.org/1 failed restored not until only { } : , . ?"
)
words = st.sampled_from(WORDS.split(" "))
texts = st.lists(words, min_size=1, max_size=40).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(texts, st.booleans(), st.booleans()), max_size=8))
def test_any_sources_are_kept_to_the_floor_and_nothing_is_made_up(
    drawn: list[tuple[str, bool, bool]],
) -> None:
    sources = [
        Source(str(i), text, bulk=bulk, pinned=pinned)
        for i, (text, bulk, pinned) in enumerate(drawn)
    ]
    summary = compress(sources)
    assert summary.report.retention >= 0.95
    assert summary.report.unsupported == ()
    assert summary.report.pinned_kept == 1.0


def test_shuffling_unrelated_sources_keeps_the_same_facts() -> None:
    sources = [
        Source(str(i), f"Depot{i} holds {i * 11} pallets of Grade{i}.") for i in range(1, 30)
    ]
    shuffled = random.Random(3).sample(sources, len(sources))
    one, other = compress(sources), compress(shuffled)
    assert one.report.retention == pytest.approx(other.report.retention, abs=0.05)
