from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.retrieve.time_words import find_time_range

NOW = datetime(2024, 6, 12, 15, 30, tzinfo=UTC)  # a Wednesday


def _found(query: str) -> tuple[str | None, str | None] | None:
    mention = find_time_range(query, NOW)
    if mention is None:
        return None
    start, end = mention.range.start, mention.range.end
    return (
        start.strftime("%Y-%m-%d") if start else None,
        end.strftime("%Y-%m-%d") if end else None,
    )


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("what did I do yesterday?", "2024-06-11", "2024-06-12"),
        ("the day before yesterday", "2024-06-10", "2024-06-11"),
        ("anything new today", "2024-06-12", "2024-06-13"),
        ("what broke this week", "2024-06-10", "2024-06-17"),
        ("What did we decide LAST WEEK?", "2024-06-03", "2024-06-10"),
        ("in the past week", "2024-06-05", "2024-06-13"),
        ("last month", "2024-05-01", "2024-06-01"),
        ("this year", "2024-01-01", "2025-01-01"),
        ("last weekend", "2024-06-08", "2024-06-10"),
        ("this weekend", "2024-06-15", "2024-06-17"),
        ("last quarter", "2024-01-01", "2024-04-01"),
        ("what happened last Friday?", "2024-06-07", "2024-06-08"),
        ("the meeting on Monday", "2024-06-10", "2024-06-11"),
        ("Monday morning", "2024-06-10", "2024-06-11"),
        ("3 days ago", "2024-06-09", "2024-06-10"),
        ("a couple of weeks ago", "2024-05-26", "2024-06-02"),
        ("two months ago", "2024-03-28", "2024-04-28"),
        ("a year ago", "2023-01-01", "2024-01-01"),
        ("over the past two weeks", "2024-05-29", "2024-06-13"),
        ("over the last couple of weeks", "2024-05-29", "2024-06-13"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("what did we do in May?", "2024-05-01", "2024-06-01"),
        ("what did we do in July?", "2023-07-01", "2023-08-01"),
        ("last June", "2023-06-01", "2023-07-01"),
        ("on 7 May 2023", "2023-05-07", "2023-05-08"),
        ("on the 7th of May, 2023", "2023-05-07", "2023-05-08"),
        ("May 7th", "2024-05-07", "2024-05-08"),
        ("on May 7, 2023", "2023-05-07", "2023-05-08"),
        ("on 2023-05-07", "2023-05-07", "2023-05-08"),
        ("on 25/12/2023", "2023-12-25", "2023-12-26"),
        ("on 12/25/2023", "2023-12-25", "2023-12-26"),
        ("in 2023", "2023-01-01", "2024-01-01"),
        ("between 2020 and 2022", "2020-01-01", "2023-01-01"),
        ("since March", "2024-03-01", None),
        ("since Monday", "2024-06-10", None),
        ("before June 2022", None, "2022-06-01"),
        ("until 2022", None, "2023-01-01"),
        ("after May 2023", "2023-06-01", None),
        ("after 3 pm yesterday", "2024-06-11", "2024-06-12"),
        ("between 3 and 9 May 2023", "2023-05-03", "2023-05-10"),
        ("from May 3 to May 9", "2024-05-03", "2024-05-10"),
        ("May 3-9, 2023", "2023-05-03", "2023-05-10"),
        ("from March to May 2023", "2023-03-01", "2023-06-01"),
        ("between November and February 2023", "2022-11-01", "2023-03-01"),
        ("Q2 2024", "2024-04-01", "2024-07-01"),
        ("in Q1", "2024-01-01", "2024-04-01"),
        ("spring 2023", "2023-03-01", "2023-06-01"),
        ("in the summer of 2023", "2023-06-01", "2023-09-01"),
        ("last summer", "2023-06-01", "2023-09-01"),
        ("the first week of May", "2024-05-01", "2024-05-08"),
        ("the last week of May", "2024-05-25", "2024-06-01"),
        ("mid-May", "2024-05-11", "2024-05-21"),
        ("recently", "2024-05-29", "2024-06-13"),
    ],
)
def test_words_for_a_time_give_a_half_open_range(
    query: str, start: str | None, end: str | None
) -> None:
    assert _found(query) == (start, end)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "how does the login flow work?",
        "What may I do next?",
        "may 5 people join?",
        "they march on the city",
        "march 12 miles",
        "found in 2 files",
        "in 2023 files",
        "python 3.11 or version 2023.1",
        "v2024.05.1",
        "ORD-2023-05-07",
        "give me a second",
        "the second one",
        "what was the last time?",
        "what is my last name?",
        "my day job",
        "on 31 June",
        "7/5/2023",
        "listening on port 2024",
        "the spring framework",
        "the fall of Rome",
        "this is the last straw",
    ],
)
def test_words_that_only_look_like_a_time_give_none(query: str) -> None:
    assert _found(query) is None


def test_this_morning_ends_at_noon() -> None:
    mention = find_time_range("what came in this morning?", NOW)
    assert mention is not None
    assert mention.text == "this morning"
    assert mention.range.start == datetime(2024, 6, 12, tzinfo=UTC)
    assert mention.range.end == datetime(2024, 6, 12, 12, tzinfo=UTC)


def test_days_are_those_of_the_zone_of_now() -> None:
    east = datetime(2024, 6, 12, 1, 0, tzinfo=timezone(timedelta(hours=2)))
    mention = find_time_range("yesterday", east)
    assert mention is not None
    assert mention.range.start == datetime(2024, 6, 10, 22, tzinfo=UTC)


def test_the_end_of_a_long_month_steps_back_to_a_day_that_exists() -> None:
    mention = find_time_range("in the past month", datetime(2024, 3, 31, tzinfo=UTC))
    assert mention is not None
    assert mention.range.start == datetime(2024, 2, 29, tzinfo=UTC)


def test_a_leap_day_without_a_year_gives_none_rather_than_an_error() -> None:
    assert find_time_range("on 29 February", datetime(2023, 6, 1, tzinfo=UTC)) is None


_words = st.sampled_from(
    [
        "in",
        "on",
        "since",
        "before",
        "last",
        "this",
        "past",
        "may",
        "march",
        "3",
        "31",
        "2023",
        "week",
        "months",
        "ago",
        "q2",
        "summer",
        "the",
        "of",
        "-",
        "/",
        "february",
        "friday",
        "yesterday",
        "couple",
        "between",
        "and",
        "to",
        "99",
    ]
)


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(st.text(max_size=80), st.lists(_words, max_size=8).map(" ".join)),
    st.datetimes(timezones=st.just(UTC)),
)
def test_any_text_gives_a_range_or_none(query: str, now: datetime) -> None:
    assert find_time_range(query, now) == find_time_range(query, now)
