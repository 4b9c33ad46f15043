"""How a run ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Stopped(StrEnum):
    """Why a run is over."""

    ANSWERED = "answered"
    STEP_LIMIT = "step_limit"
    TOKEN_LIMIT = "token_limit"
    MODEL_FAILED = "model_failed"
    OVER_BUDGET = "over_budget"


@dataclass(frozen=True)
class RunResult:
    """The answer, the payload as it was left, and what the run took.

    ``degraded`` lists what the memory could not do; the run went on without it. ``problems``
    lists failed tools and a failed model.
    """

    answer: str
    stopped: Stopped
    run_id: str
    payload: dict[str, Any]
    steps: int
    tokens_in: int
    tokens_out: int
    problems: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    merged: dict[str, str] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        return self.stopped is Stopped.ANSWERED
