"""The story of the tour: five days in March 2026, told by the events an agent would store."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from waypost.model import StageType

TASK = "move-payments"
GOAL = "Move the Larkspur shop's payments to PostgreSQL and to Brightpay within the week."
CONSTRAINTS = (
    "Payments may be down for at most 10 minutes during the cutover.",
    "Card numbers never appear in any log, dump or ticket.",
)
STAGES = {
    "Monday": StageType.PLANNING,
    "Tuesday": StageType.EXECUTION,
    "Wednesday": StageType.EXECUTION,
    "Thursday": StageType.VERIFICATION,
    "Friday": StageType.EXECUTION,
}
"""Each day is one stage of the task; Friday's is still open when the tour asks its questions."""

NOW = datetime(2026, 3, 6, 12, 0, tzinfo=UTC)
"""Noon of the last day. The tour runs at this time, so that it always shows the same."""


def events() -> list[dict[str, Any]]:
    """Every event in order, each as what ``add_memory`` or ``add_interaction`` take."""
    text = files(__package__).joinpath("story.jsonl").read_text("utf-8")
    return [_event(line) for line in text.splitlines()]


def _event(line: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(line)
    return {**values, "timestamp": datetime.fromisoformat(values["timestamp"])}
