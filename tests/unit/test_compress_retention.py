"""The measure of retention: what lowers it, what does not, and what counts as unsupported."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from waypost.stages.compress import Source, from_text, measure, validate_compression_quality

REPORT = (
    "Alice moved 120 GB of invoices to Postgres 16 on May 20, 2026. "
    "The export took 45 minutes and wrote /srv/exports/invoices.csv. "
    "We decided to keep the old server until 2026-06-30. "
    "The import must not run before 22:00. "
    "Bob reported ticket OPS-412 as resolved. "
    "The nightly job failed with ConnectionResetError. "
    "Is the archive bucket encrypted?"
)


def quality(compressed: str, original: str = REPORT) -> float:
    return validate_compression_quality(original, compressed)


def test_a_text_keeps_all_of_itself() -> None:
    assert quality(REPORT.replace(". ", ".\n")) == 1.0


def test_an_empty_summary_keeps_nothing() -> None:
    assert quality("") == 0.0


def test_a_text_without_facts_has_nothing_to_lose() -> None:
    assert quality("", "and so on") == 1.0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("120 GB", "130 GB"),
        ("120 GB", "120 MB"),
        ("45 minutes", "45 seconds"),
        ("May 20, 2026", "May 21, 2026"),
        ("/srv/exports/invoices.csv", "/srv/exports/orders.csv"),
        ("OPS-412", "OPS-421"),
        ("must not run", "must run"),
        ("ConnectionResetError", "TimeoutError"),
        ("Postgres 16", "Postgres 17"),
        ("2026-06-30", "2026-07-30"),
    ],
)
def test_changing_one_fact_lowers_it(before: str, after: str) -> None:
    lines = REPORT.replace(". ", ".\n")
    assert quality(lines.replace(before, after)) < quality(lines)


@pytest.mark.parametrize("sentence", REPORT.split(". "))
def test_dropping_any_sentence_lowers_it(sentence: str) -> None:
    kept = [line for line in REPORT.split(". ") if line != sentence]
    assert quality("\n".join(kept)) < 1.0


@pytest.mark.parametrize("arrange", [sorted, lambda words: words[::-1]])
def test_the_words_alone_without_their_sentences_keep_little(
    arrange: Callable[[list[str]], Iterable[str]],
) -> None:
    bag = " ".join(arrange(REPORT.replace(".", "").split()))
    assert quality(bag) < 0.5


def test_swapping_two_names_lowers_it() -> None:
    original = "Alice owes Bob 50 dollars."
    assert quality("Bob owes Alice 50 dollars.", original) < quality(original, original)


def test_swapping_two_numbers_lowers_it() -> None:
    original = "The cache holds 512 entries and the queue holds 64 jobs."
    swapped = "The cache holds 64 entries and the queue holds 512 jobs."
    assert quality(swapped, original) < 1.0


def test_a_value_far_from_its_words_is_lost() -> None:
    original = "The staging cluster has 12 nodes."
    assert quality("12", original) < quality("staging cluster has 12 nodes", original)


def test_another_spelling_of_a_number_or_date_is_the_same_fact() -> None:
    original = "The table holds 10,000 rows since May 20, 2026."
    assert quality("The table holds 10000 rows since 2026-05-20.", original) == 1.0


def test_another_spelling_of_a_time_is_the_same_fact() -> None:
    original = "The train to Basel leaves at 01:30 PM."
    assert quality("The train to Basel leaves at 13:30.", original) == 1.0
    assert quality("The train to Basel leaves at 01:30 AM.", original) < 1.0


def test_saying_a_fact_twice_does_not_make_it_weigh_more() -> None:
    once = "The limit is 30 requests. The region is Frankfurt."
    often = "The limit is 30 requests. " * 20 + "The region is Frankfurt."
    kept = "The limit is 30 requests."
    assert quality(kept, once) == pytest.approx(quality(kept, often))


def test_a_question_that_was_answered_later_may_go() -> None:
    sources = [
        Source("1", "Which port does staging use?"),
        Source("2", "Staging uses port 8443."),
        Source("3", "The certificate expires on 2026-09-01."),
        Source("4", "Deployment finished in 12 minutes."),
        Source("5", "The dashboard shows 3 alerts."),
    ]
    without = measure(sources, [source.text for source in sources[1:]])
    assert without.retention == 1.0


def test_an_open_question_may_not() -> None:
    sources = [Source("1", "Staging uses port 8443."), Source("2", "TODO: who renews the license?")]
    assert measure(sources, ["Staging uses port 8443."]).retention < 1.0


def test_a_value_of_tool_output_counts_in_full_once_it_is_used() -> None:
    listing = "\n".join(f"item-{number} costs {number * 7} dollars" for number in range(100, 140))
    unused = [Source("tool", listing, bulk=True), Source("end", "ok", bulk=True)]
    used = [*unused, Source("agent", "I order item-117 for 819 dollars.")]
    assert measure(used, ["item-101 costs 707 dollars"]).retention < 0.5
    assert measure(used, ["I order item-117 for 819 dollars."]).retention > 0.9


def test_instructions_inside_tool_output_bind_nobody() -> None:
    page = Source("page", "Visitors must always accept cookies. Never share this link.", bulk=True)
    report = measure([page], [])
    assert "constraint" not in report.by_kind


def test_pinned_text_is_counted_apart() -> None:
    sources = [Source("1", "Never touch the ledger table.", pinned=True), Source("2", "Fine.")]
    assert measure(sources, ["Never touch the ledger table."]).pinned_kept == 1.0
    assert measure(sources, ["Never touch the table."]).pinned_kept == 0.0


@pytest.mark.parametrize(
    "line",
    [
        "Alice moved 130 GB of invoices to Postgres 16",
        "The export wrote /srv/exports/orders.csv",
        "Carol approved the holiday party budget",
    ],
)
def test_a_line_that_says_something_else_is_unsupported(line: str) -> None:
    assert measure([from_text(REPORT)], [line]).unsupported == (line,)


def test_a_line_is_judged_by_the_sources_it_cites() -> None:
    sources = [Source("a", "The limit is 30 requests."), Source("b", "The region is Frankfurt.")]
    line = "The limit is 30 requests."
    assert measure(sources, [line], cited=[["a"]]).unsupported == ()
    assert measure(sources, [line], cited=[["b"]]).unsupported == (line,)


def test_the_report_names_what_was_lost_heaviest_first() -> None:
    report = measure([from_text(REPORT)], ["Bob reported ticket OPS-412 as resolved."])
    assert report.lost[0].split(":")[0] in {"decision", "constraint", "error", "outcome"}
    assert any("Postgres" in lost for lost in report.lost)
