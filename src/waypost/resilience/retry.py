"""Trying again, with full jitter: wait a random time up to an exponentially growing bound.

Full jitter spreads the clients of a recovering server best. It is written out here rather
than taken from a library because the wait must be able to follow the server's Retry-After,
and because waiting and chance are arguments, so that tests neither sleep nor guess.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from waypost.exceptions import ProviderUnavailable

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently to try.

    A server that asks for more than ``longest_delay`` seconds of patience is not waited for:
    the error goes to the caller, with ``retry_after`` among its facts.
    """

    attempts: int = 3
    first_delay: float = 0.5
    longest_delay: float = 20.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = field(default=random.random)

    async def run(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """Return the first result; raise the last ``ProviderUnavailable``, or at once any other."""
        for attempt in range(1, self.attempts):
            try:
                return await call()
            except ProviderUnavailable as error:
                delay = self._delay(attempt, error.facts.get("retry_after"))
                if delay is None:
                    raise
            await self.sleep(delay)
        return await call()

    def _delay(self, attempt: int, asked_for: float | None) -> float | None:
        bound = min(self.longest_delay, self.first_delay * 2.0 ** (attempt - 1))
        jittered = bound * self.chance()
        if asked_for is None:
            return jittered
        return asked_for + jittered if asked_for <= self.longest_delay else None
