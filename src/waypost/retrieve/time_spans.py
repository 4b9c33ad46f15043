"""What the words for a time mean: one reader per form, from a match to a span.

The calendar side of ``time_words``, which holds the patterns. A reader gets the match and the
moment of asking, and returns a half-open span in that moment's zone, or None when the words turn
out to be ambiguous. A day that does not exist raises ValueError.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sep", "sept"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            ("monday", "mon"),
            ("tuesday", "tue", "tues"),
            ("wednesday", "wed"),
            ("thursday", "thu", "thurs"),
            ("friday", "fri"),
            ("saturday", "sat"),
            ("sunday", "sun"),
        )
    )
    for name in names
}
NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple": 2, "few": 3,
    "several": 4,
}  # fmt: skip
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


@dataclass(frozen=True, slots=True)
class Span:
    """From ``start``, which belongs to it, to ``end``, which does not."""

    start: datetime
    end: datetime


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _day(start: datetime, days: int = 1) -> Span:
    return Span(start, start + timedelta(days=days))


def _months(now: datetime, year: int, month: int, count: int = 1) -> Span:
    first = _midnight(now).replace(year=year, month=month, day=1)
    return Span(first, _add_months(first, count))


def _add_months(moment: datetime, count: int) -> datetime:
    """Move by calendar months; a day the month does not have becomes its last."""
    index = moment.year * 12 + moment.month - 1 + count
    year, month = divmod(index, 12)
    for day in (moment.day, 30, 29, 28):
        try:
            return moment.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    raise ValueError(f"no month {count} months from {moment:%Y-%m}")


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    for part in word.split():
        if part in ("couple", "few"):
            return NUMBERS[part]
    return NUMBERS[word]


def _month_number(word: str) -> int:
    return MONTHS[word.rstrip(".")]


def read_iso_day(match: re.Match[str], now: datetime) -> Span:
    year, month, day = (int(match[name]) for name in ("year", "month", "day"))
    return _day(_midnight(now).replace(year=year, month=month, day=day))


def read_iso_month(match: re.Match[str], now: datetime) -> Span:
    return _months(now, int(match["year"]), int(match["month"]))


def read_slashed_day(match: re.Match[str], now: datetime) -> Span | None:
    """Read 25/12/2023 or 12/25/2023; one that could be either is left alone."""
    first, second, year = int(match["one"]), int(match["two"]), int(match["year"])
    if first <= 12 and second <= 12 and first != second:
        return None
    day, month = (first, second) if first > 12 or first == second else (second, first)
    return _day(_midnight(now).replace(year=year, month=month, day=day))


def _past_date(now: datetime, month: int, day: int, year: str | None) -> datetime:
    """Return that day, in the year given or else the most recent one that has come."""
    if year:
        return _midnight(now).replace(year=int(year), month=month, day=day)
    this_year = _midnight(now).replace(month=month, day=day)
    return this_year if this_year <= now else this_year.replace(year=now.year - 1)


def read_day(match: re.Match[str], now: datetime) -> Span:
    month = _month_number(match["month"])
    return _day(_past_date(now, month, int(match["day"]), match["year"]))


def read_days(match: re.Match[str], now: datetime) -> Span:
    groups = match.groupdict()
    last_month = _month_number(match["month"])
    first_month = _month_number(groups.get("from_month") or match["month"])
    last = _past_date(now, last_month, int(match["last"]), match["year"])
    first = last.replace(month=first_month, day=int(match["first"]))
    if first > last:
        raise ValueError("the first day lies after the last")
    return Span(first, last + timedelta(days=1))


def read_months(match: re.Match[str], now: datetime) -> Span:
    last = read_month_of(match["last"], match["year"], now)
    first = _months(now, last.start.year, _month_number(match["first"])).start
    if first > last.start:
        first = first.replace(year=first.year - 1)
    return Span(first, last.end)


def read_years(match: re.Match[str], now: datetime) -> Span:
    first, last = int(match["first"]), int(match["last"])
    return Span(_months(now, first, 1).start, _months(now, last + 1, 1).start)


def read_month_of(word: str, year: str | None, now: datetime) -> Span:
    month = _month_number(word)
    if year:
        return _months(now, int(year), month)
    return _months(now, now.year if month <= now.month else now.year - 1, month)


def read_month(match: re.Match[str], now: datetime) -> Span:
    return read_month_of(match["month"], match.groupdict().get("year"), now)


def read_relative_month(match: re.Match[str], now: datetime) -> Span:
    """Read "last May": the one of the year before when May of this year still runs."""
    span = read_month_of(match["month"], None, now)
    return span if span.end <= now else _months(now, span.start.year - 1, span.start.month)


def read_part_of_month(match: re.Match[str], now: datetime) -> Span:
    month = read_month(match, now)
    days = {"early": (0, 10), "mid": (10, 20), "late": (20, None)}
    first, last = days[match["part"].rstrip("- ")]
    end = month.end if last is None else month.start + timedelta(days=last)
    return Span(month.start + timedelta(days=first), end)


def read_week_of_month(match: re.Match[str], now: datetime) -> Span:
    month = read_month(match, now)
    ordinal = ORDINALS[match["ordinal"]]
    if ordinal < 0:
        return Span(month.end - timedelta(days=7), month.end)
    return _day(month.start + timedelta(days=7 * (ordinal - 1)), 7)


def read_quarter(match: re.Match[str], now: datetime) -> Span:
    month = 3 * int(match["quarter"]) - 2
    year = int(match["year"]) if match["year"] else now.year - (month > now.month)
    return _months(now, year, month, 3)


def read_season(match: re.Match[str], now: datetime) -> Span:
    """Read a season of the northern year; winter 2023 starts in December 2023."""
    month = SEASONS[match["season"]]
    which = match.groupdict().get("which")
    if match.groupdict().get("year"):
        return _months(now, int(match["year"]), month, 3)
    span = _months(now, now.year - (month > now.month), month, 3)
    if which == "last" and span.end > now:
        span = _months(now, span.start.year - 1, month, 3)
    return span


def read_year(match: re.Match[str], now: datetime) -> Span:
    return _months(now, int(match["year"]), 1, 12)


DAY_WORDS = {
    "day before yesterday": (-2, 0, 24),
    "yesterday": (-1, 0, 24),
    "last night": (-1, 18, 30),
    "today": (0, 0, 24),
    "this morning": (0, 0, 12),
    "this afternoon": (0, 12, 18),
    "this evening": (0, 17, 24),
    "tonight": (0, 17, 30),
}


def read_day_word(match: re.Match[str], now: datetime) -> Span:
    days, first_hour, last_hour = DAY_WORDS[match["word"]]
    start = _midnight(now) + timedelta(days=days)
    return Span(start + timedelta(hours=first_hour), start + timedelta(hours=last_hour))


def read_recently(match: re.Match[str], now: datetime) -> Span:
    return Span(_midnight(now) - timedelta(days=14), _midnight(now) + timedelta(days=1))


def read_ago(match: re.Match[str], now: datetime) -> Span:
    """Read "three weeks ago" as loosely as it is meant: the unit around that moment."""
    count, unit = _number(match["count"]), match["unit"]
    if unit in ("hour", "minute"):
        return Span(now - timedelta(**{unit + "s": 2 * count}), now)
    if unit == "day":
        return _day(_midnight(now) - timedelta(days=count))
    if unit in ("month", "quarter"):
        moment = _add_months(_midnight(now), -count * (3 if unit == "quarter" else 1))
        return Span(moment - timedelta(days=15), moment + timedelta(days=16))
    if unit == "year":
        return _months(now, now.year - count, 1, 12)
    return _weeks_ago(_midnight(now), count, unit)


def _weeks_ago(today: datetime, count: int, unit: str) -> Span:
    if unit == "weekend":
        return _day(_saturday(today) - timedelta(weeks=count), 2)
    moment = today - timedelta(weeks=count * (2 if unit == "fortnight" else 1))
    return Span(moment - timedelta(days=3), moment + timedelta(days=4))


def _saturday(today: datetime) -> datetime:
    """Return the Saturday of this week."""
    return today + timedelta(days=5 - today.weekday())


def read_past(match: re.Match[str], now: datetime) -> Span:
    """Read "the past two weeks": from then until the end of today."""
    count = _number(match["count"]) if match["count"] else 1
    unit = match["unit"]
    end = _midnight(now) + timedelta(days=1)
    if unit in ("hour", "minute"):
        return Span(now - timedelta(**{unit + "s": count}), end)
    if unit in ("month", "quarter", "year"):
        months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
        return Span(_add_months(_midnight(now), -months), end)
    days = count * {"day": 1, "week": 7, "weekend": 7, "fortnight": 14}[unit]
    return Span(_midnight(now) - timedelta(days=days), end)


def read_calendar_unit(match: re.Match[str], now: datetime) -> Span:
    """Read "this week", "last month", "previous quarter"."""
    back = 0 if match["which"] in ("this", "current") else 1
    unit, today = match["unit"], _midnight(now)
    if unit == "week":
        return _day(today - timedelta(days=today.weekday() + 7 * back), 7)
    if unit == "weekend":
        return _last_weekend(today) if back else _day(_saturday(today), 2)
    if unit == "year":
        return _months(now, now.year - back, 1, 12)
    size = 3 if unit == "quarter" else 1
    first = today.replace(month=(today.month - 1) // size * size + 1, day=1)
    start = _add_months(first, -back * size)
    return Span(start, _add_months(start, size))


def _last_weekend(today: datetime) -> Span:
    return _day(_saturday(today) - timedelta(days=7), 2)


def read_weekday(match: re.Match[str], now: datetime) -> Span:
    """Read "last Friday" or "on Friday" as the latest one that is over or under way."""
    wanted = WEEKDAYS[match["weekday"]]
    today = _midnight(now)
    days = (today.weekday() - wanted) % 7
    if days == 0 and match["which"] != "this":
        days = 7
    return _day(today - timedelta(days=days))
