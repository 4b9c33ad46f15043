"""A clock that tests move by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class Clock:
    """Call it for the time; it stands still until ``forward`` moves it."""

    def __init__(self, start: datetime = datetime(2026, 3, 2, 9, tzinfo=UTC)) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **amount: float) -> None:
        self.now += timedelta(**amount)
