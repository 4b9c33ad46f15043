"""The story of the tour: five days in March 2026, told by the events an agent would store."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

TASK = "move-payments"
NOW = datetime(2026, 3, 6, 12, 0, tzinfo=UTC)
"""Noon of the last day. The tour runs at this time, so that it always shows the same."""


def events() -> list[dict[str, Any]]:
    """Every event in order, each as what ``add_memory`` or ``add_interaction`` take."""
    text = files(__package__).joinpath("story.jsonl").read_text("utf-8")
    return [_event(line) for line in text.splitlines()]


def _event(line: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(line)
    return {**values, "timestamp": datetime.fromisoformat(values["timestamp"])}
