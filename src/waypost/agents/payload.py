"""The payload as a tool: the model sets fields of what the run returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waypost.agents.tools import Outcome

UPDATE_PAYLOAD = "update_payload"

SCHEMA: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": UPDATE_PAYLOAD,
        "description": "Set fields of the payload, which is what this run returns.",
        "parameters": {
            "type": "object",
            "properties": {"changes": {"type": "object", "description": "Fields and values."}},
            "required": ["changes"],
            "additionalProperties": False,
        },
    },
}


def update(payload: dict[str, Any], arguments: Mapping[str, Any]) -> Outcome:
    """Set the fields that the model names."""
    changes = arguments.get("changes")
    if not isinstance(changes, dict) or not changes:
        return Outcome("Error: changes is an object with the fields to set", True)
    payload.update(changes)
    return Outcome(f"Payload updated: {', '.join(changes)}")
