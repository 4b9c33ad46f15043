"""Times are timezone-aware and kept in UTC; a naive time is refused, never guessed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator


def utc_now() -> datetime:
    return datetime.now(UTC)


def to_utc(value: datetime) -> datetime:
    """Convert an aware time to UTC; a naive one is a ValueError that says how to fix it."""
    if value.tzinfo is None or value.utcoffset() is None:
        raise ValueError(
            f"{value.isoformat()} has no time zone; pass an aware time such as "
            "datetime.now(timezone.utc) or 2026-01-31T12:00:00Z"
        )
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{value.isoformat()} lies outside the calendar in UTC") from None


UtcTime = Annotated[datetime, AfterValidator(to_utc)]
