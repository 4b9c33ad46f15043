"""Limits: what is too much is refused at once, and says when to come back."""

from __future__ import annotations

import pytest

from waypost.exceptions import Overloaded, RateLimited
from waypost.service.limits import MAX_TRACKED_AGENTS, Gate, RateLimiter


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_idle_agent_may_make_a_burst_and_then_its_rate() -> None:
    clock = Clock()
    limiter = RateLimiter(10, 3, clock=clock)
    for _ in range(3):
        limiter.take("planner")
    with pytest.raises(RateLimited) as refused:
        limiter.take("planner")
    assert refused.value.retryable
    assert refused.value.facts["retry_after"] == 0.1
    clock.now = 0.1
    limiter.take("planner")
    with pytest.raises(RateLimited):
        limiter.take("planner")


def test_one_agent_does_not_use_up_the_calls_of_another() -> None:
    limiter = RateLimiter(1, 1, clock=Clock())
    limiter.take("planner")
    limiter.take("critic")
    with pytest.raises(RateLimited):
        limiter.take("planner")


def test_a_long_rest_gives_no_more_than_the_burst() -> None:
    clock = Clock()
    limiter = RateLimiter(100, 2, clock=clock)
    clock.now = 3600
    limiter.take("planner")
    limiter.take("planner")
    with pytest.raises(RateLimited):
        limiter.take("planner")


def test_agents_without_end_do_not_fill_the_memory() -> None:
    limiter = RateLimiter(1, 1, clock=Clock())
    for number in range(MAX_TRACKED_AGENTS + 10):
        limiter.take(f"agent-{number}")
    limiter.take("agent-0")
    with pytest.raises(RateLimited):
        limiter.take(f"agent-{MAX_TRACKED_AGENTS + 9}")


def test_a_full_gate_refuses_and_opens_again() -> None:
    gate = Gate(1)
    with gate.enter(), pytest.raises(Overloaded) as refused, gate.enter():
        pass
    assert refused.value.retryable
    with gate.enter():
        assert gate.inside == 1
    assert gate.inside == 0
