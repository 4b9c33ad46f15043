"""How much one caller, and all of them, may ask for.

Everything past a limit is refused at once with an error that says whether to try
again: a full server answers as quickly as an idle one.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from waypost.exceptions import Overloaded, RateLimited

MAX_TRACKED_AGENTS = 10_000


class Limits(BaseModel):
    """The limits of one server process."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    body_bytes: int = Field(default=4 * 1024 * 1024, ge=1024)
    max_batch: int = Field(default=100, ge=1)
    rate_per_second: float = Field(default=5000, gt=0, description="calls per agent")
    burst: int = Field(default=10_000, ge=1, description="calls an idle agent may make at once")
    concurrency: int = Field(default=512, ge=1, description="requests in progress at one time")
    call_seconds: float = Field(default=30, gt=0)
    body_seconds: float = Field(default=10, gt=0, description="time to send the request body")
    shutdown_seconds: float = Field(default=20, gt=0, description="time to finish what runs")


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimiter:
    """A token bucket per agent. ``take`` returns at once or raises RateLimited.

    The agents that were quiet longest are forgotten first; a forgotten agent starts
    with a full bucket, which it had in all likelihood anyway.
    """

    def __init__(
        self, per_second: float, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, agent: str) -> None:
        bucket = self._refilled(agent)
        if bucket.tokens < 1:
            wait = (1 - bucket.tokens) / self._per_second
            raise RateLimited(
                f"more than {self._per_second:g} calls a second; wait {wait:.3f} s",
                retry_after=round(wait, 3),
            )
        bucket.tokens -= 1

    def _refilled(self, agent: str) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.get(agent)
        if bucket is None:
            bucket = self._buckets[agent] = _Bucket(float(self._burst), now)
            if len(self._buckets) > MAX_TRACKED_AGENTS:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(agent)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.at) * self._per_second)
        bucket.at = now
        return bucket


class Gate:
    """Counts what is in progress and refuses more than fits, without a queue."""

    def __init__(self, places: int) -> None:
        self._places = places
        self.inside = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        if self.inside >= self._places:
            raise Overloaded(
                f"{self._places} requests are in progress already; try again shortly",
                retry_after=1,
            )
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1
