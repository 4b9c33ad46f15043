"""A circuit breaker: after enough failures in a row, fail at once for a while.

closed → (``failures`` in a row) → open → (``cool_down`` seconds) → half-open: one caller
tries, the others still fail at once. Its success closes the breaker, its failure opens it
again, and when it is cancelled the next caller may try. Time comes from ``clock``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from waypost.exceptions import ProviderUnavailable

State = Literal["closed", "open", "half_open"]


class CircuitBreaker:
    """Guards one provider; share one instance between everything that calls it."""

    def __init__(
        self,
        *,
        failures: int = 5,
        cool_down: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = failures
        self._cool_down = cool_down
        self._clock = clock
        self._failed_in_a_row = 0
        self._opened_at: float | None = None
        self._probing = False
        self._last_failure = ""

    @property
    def state(self) -> State:
        if self._opened_at is None:
            return "closed"
        return "half_open" if self._remaining() <= 0 else "open"

    def enter(self, provider: str) -> None:
        """Let the caller through or raise ``ProviderUnavailable``; then report how it went."""
        if self._opened_at is None:
            return
        remaining = self._remaining()
        if remaining > 0 or self._probing:
            raise ProviderUnavailable(
                f"{provider} failed {self._failed_in_a_row} times in a row and is left alone for "
                f"{max(remaining, 0.0):.0f} more seconds; last: {self._last_failure}",
                provider=provider,
                retry_after=max(remaining, 0.0),
            )
        self._probing = True

    def succeeded(self) -> None:
        self._failed_in_a_row, self._opened_at, self._probing = 0, None, False

    def failed(self, reason: str) -> None:
        self._last_failure = reason
        self._failed_in_a_row += 1
        if self._probing or self._failed_in_a_row >= self._limit:
            self._opened_at = self._clock()
        self._probing = False

    def abandoned(self) -> None:
        """The call ended without telling anything about the provider (it was cancelled)."""
        self._probing = False

    def _remaining(self) -> float:
        opened_at = self._opened_at if self._opened_at is not None else self._clock()
        return opened_at + self._cool_down - self._clock()
