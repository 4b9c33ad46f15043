"""Times in the words of a question, as a half-open UTC range.

"What did we decide last week?" asks about seven days; ``find_time_range`` says which. A small
grammar of compiled patterns, tried from the most specific to the least; the first that fits gives
the answer. Precision comes first: a word that is a time only sometimes ("may", "march", "second",
"last") counts only in company that makes it one. Days and weeks are those of the zone of ``now``;
weeks start on Monday. Pure: the clock is an argument. ``time_spans`` knows what the words mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from waypost.model.recall import TimeRange
from waypost.model.times import to_utc
from waypost.retrieve import time_spans as spans
from waypost.retrieve.time_spans import DAY_WORDS, MONTHS, NUMBERS, SEASONS, WEEKDAYS, Span

_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_WEEKDAY = "(?:" + "|".join(name for name in WEEKDAYS if name.endswith("day")) + ")"
_SEASON = "(?:" + "|".join(SEASONS) + ")"
_COUNT = r"(?:\d{1,3}|" + "|".join(NUMBERS) + "|(?:a )?couple of|a couple|a few)"
_UNIT = "(?:day|week|weekend|fortnight|month|quarter|year|hour|minute)"
_YEAR = r"(?:19|20)\d\d"
_DAY = "(?:[12]\\d|3[01]|0?[1-9])"
_ENDING = "(?:st|nd|rd|th)?"
_TO = "(?: and | to | until | through | ?[-–] ?)"
_OF_YEAR = rf"(?:,? (?:of )?(?P<year>{_YEAR}))?"
_THINGS = (
    "(?:files|lines|cases|places|tests|words|steps|rows|tokens|items|times|people|users|miles"
    "|days|weeks|hours|minutes|percent)"
)

# Cheap looks before the grammar: a form of a group never stands without that group's hint.
_YEAR_HINT = re.compile(_YEAR)
_MONTH_HINT = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)")
_WORD_HINT = re.compile(
    r"\b(?:ago|past|last|previous|current|recent|lately|today|tonight|yesterday|q[1-4]"
    r"|this [wmyqaesf]|spring|summer|autumn|winter|mon|tues|wednes|thurs|fri|satur|sun)"
)

_Reader = Callable[[re.Match[str], datetime], Span | None]
_Group = tuple[re.Pattern[str], tuple[tuple[re.Pattern[str], _Reader], ...]]


@dataclass(frozen=True, slots=True)
class TimeMention:
    """A time that was found: the range it means and the words that said so."""

    range: TimeRange
    text: str


def find_time_range(query: str, now: datetime) -> TimeMention | None:
    """Return the time that the query speaks of, or None when it speaks of none.

    ``now`` must be aware; its zone is the one whose days and weeks are meant.
    """
    # A time stands in a question, not in a document that was pasted after it.
    words = query[:2000].lower()
    for hint in (_YEAR_HINT, _MONTH_HINT, _WORD_HINT):
        if hint.search(words) is not None:
            return _search(words, now)
    return None


def _search(words: str, now: datetime) -> TimeMention | None:
    for hint, forms in _grammar():
        if hint.search(words) is None:
            continue
        for pattern, read in forms:
            for match in pattern.finditer(words):
                span = _read(read, match, now)
                if span is not None:
                    return _mention(words, match, span)
    return None


def _read(read: _Reader, match: re.Match[str], now: datetime) -> Span | None:
    try:
        return read(match, now)
    except (ValueError, OverflowError):
        return None  # no such day (31 June), or outside the calendar


_BOUND = re.compile(
    r"\b(?P<word>since|from|after|starting|before|until|till|prior to|up to|by)"
    r"(?: (?:the|on|in|about|around|early|late))*(?P<hour> \d{1,2}(?::\d\d)? ?[ap]\.?m\.?)?,? $"
)


def _mention(words: str, match: re.Match[str], span: Span) -> TimeMention:
    """Open the range on one side when a word such as "since" or "before" stands in front."""
    bound = None
    if "first" not in match.groupdict():  # "from 3 to 9 May" has both its ends already
        bound = _BOUND.search(words, max(0, match.start() - 40), match.start())
    start, end = _sides(bound, span)
    return TimeMention(
        range=TimeRange(start=start and to_utc(start), end=end and to_utc(end)),
        text=words[bound.start() if bound else match.start() : match.end()],
    )


def _sides(bound: re.Match[str] | None, span: Span) -> tuple[datetime | None, datetime | None]:
    word = bound["word"] if bound else None
    if bound is None or word is None:
        return span.start, span.end
    if word in ("since", "from", "starting"):
        return span.start, None
    if word == "after":
        # "after May" begins when May is over; "after 3 pm yesterday" is still yesterday.
        return (span.start, span.end) if bound["hour"] else (span.end, None)
    if word in ("before", "prior to"):
        return None, span.end if bound["hour"] else span.start
    return None, span.end


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(r"(?<![\w.-])" + pattern + r"(?!\w)")


@cache
def _grammar() -> tuple[_Group, ...]:
    """Compile the forms, group by group, when the first question needs them."""
    return (
        (_YEAR_HINT, _numeric_forms()),
        (_MONTH_HINT, _day_forms() + _month_forms()),
        (_WORD_HINT, _relative_forms()),
        (_YEAR_HINT, _year_forms()),
    )


def _numeric_forms() -> tuple[tuple[re.Pattern[str], _Reader], ...]:
    return (
        (_form(rf"(?P<year>{_YEAR})[-/](?P<month>\d\d)[-/](?P<day>\d\d)"), spans.read_iso_day),
        (
            _form(rf"(?P<one>\d{{1,2}})[/.](?P<two>\d{{1,2}})[/.](?P<year>{_YEAR})"),
            spans.read_slashed_day,
        ),
        (_form(rf"(?P<year>{_YEAR})-(?P<month>0[1-9]|1[0-2])(?![.-]\w)"), spans.read_iso_month),
        (
            _form(rf"(?:between|from) (?P<first>{_YEAR}) (?:and|to|until) (?P<last>{_YEAR})"),
            spans.read_years,
        ),
        (_form(rf"q(?P<quarter>[1-4]),? (?:of )?(?P<year>{_YEAR})"), spans.read_quarter),
        (_form(rf"(?P<season>{_SEASON}),? (?:of )?(?P<year>{_YEAR})"), spans.read_season),
    )


def _day_forms() -> tuple[tuple[re.Pattern[str], _Reader], ...]:
    first, last = rf"(?P<first>{_DAY}){_ENDING}", rf"(?P<last>{_DAY}){_ENDING}"
    month, other = rf"(?P<month>{_MONTH})", rf"(?P<from_month>{_MONTH})"
    day = rf"(?P<day>{_DAY}){_ENDING}"
    # "may 5 people join" and "march 12 miles" are no days of a month.
    no_amount = rf"(?![:.]\d|%| ?[ap]m\b| {_THINGS}\b)"
    return (
        (
            _form(rf"{first}(?: of)?(?: {other})?{_TO}(?:the )?{last}(?: of)? {month}{_OF_YEAR}"),
            spans.read_days,
        ),
        (_form(rf"{other} {first}{_TO}{month} {last}{_OF_YEAR}"), spans.read_days),
        (_form(rf"{month} {first}{_TO}{last}{_OF_YEAR}"), spans.read_days),
        (_form(rf"{day}(?: of)? {month}{_OF_YEAR}"), spans.read_day),
        (_form(rf"{month} (?:the )?{day}{no_amount}{_OF_YEAR}"), spans.read_day),
    )


def _month_forms() -> tuple[tuple[re.Pattern[str], _Reader], ...]:
    month = rf"(?P<month>{_MONTH})"
    first, last = rf"(?P<first>{_MONTH})", rf"(?P<last>{_MONTH})"
    lead = "(?:(?<=since )|(?<=before )|(?<=until )|(?<=during )|(?<=from )|(?<=after )|(?<=by )"
    return (
        (
            _form(rf"(?P<ordinal>first|second|third|fourth|last) week (?:of|in) {month}{_OF_YEAR}"),
            spans.read_week_of_month,
        ),
        (_form(rf"(?P<part>early|mid|late)[- ]{month}{_OF_YEAR}"), spans.read_part_of_month),
        (_form(rf"between {first} and {last}{_OF_YEAR}"), spans.read_months),
        (_form(rf"from {first} (?:to|until|through) {last}{_OF_YEAR}"), spans.read_months),
        (_form(rf"{month},? (?:of )?(?P<year>{_YEAR})"), spans.read_month),
        (_form(rf"(?:last|this past) {month}"), spans.read_relative_month),
        (
            _form(rf"{lead}|in |this ){month}(?! (?:\d|be|have|not|the|i|we|you|it)\b)"),
            spans.read_month,
        ),
    )


def _relative_forms() -> tuple[tuple[re.Pattern[str], _Reader], ...]:
    read_season = spans.read_season
    unit, count = rf"(?P<unit>{_UNIT})", rf"(?P<count>{_COUNT})"
    weekday = rf"(?P<weekday>{_WEEKDAY})"
    before = "(?<=on )|(?<=since )|(?<=before )|(?<=after )|(?<=until )"
    return (
        (_form(rf"(?P<which>last|this) (?P<season>{_SEASON})"), read_season),
        (
            _form("(?:in|over|during) the (?P<season>spring|summer|autumn|winter)"),
            spans.read_season,
        ),
        (_form("(?:in|during|for|of|since) q(?P<quarter>[1-4])(?P<year>)"), spans.read_quarter),
        (_form(rf"{count} {unit}s? ago"), spans.read_ago),
        (_form(rf"(?:past|last|previous|recent) {count} {unit}s?"), spans.read_past),
        (_form(rf"past (?P<count>){unit}"), spans.read_past),
        (
            _form(
                "(?P<which>this|last|previous|current) (?P<unit>week(?:end)?|month|quarter|year)"
            ),
            spans.read_calendar_unit,
        ),
        (
            _form(rf"(?:(?P<which>last|this past|past|previous|this) |{before}){weekday}"),
            spans.read_weekday,
        ),
        (
            _form(rf"(?P<which>){weekday}(?= (?:morning|afternoon|evening|night))"),
            spans.read_weekday,
        ),
        (_form("(?P<word>" + "|".join(DAY_WORDS) + ")"), spans.read_day_word),
        (_form("recently|lately"), spans.read_recently),
    )


def _year_forms() -> tuple[tuple[re.Pattern[str], _Reader], ...]:
    lead = "(?:(?<=since )|(?<=before )|(?<=until )|(?<=during )|(?<=after )|in (?:early |late )?)"
    return ((_form(rf"{lead}(?P<year>{_YEAR})(?![.,:/-]?\d| {_THINGS}\b)"), spans.read_year),)
