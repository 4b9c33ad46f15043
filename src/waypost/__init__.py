"""Waypost: a memory for AI agents that work on long tasks.

    engine = await waypost.open("notes.db")
    memory = engine.agent("planner")
    await memory.add_interaction("Which port does staging use?", "Port 8443.")
    recall = await memory.retrieve_memories("staging port")

Importing this package runs nothing and loads nothing heavy: each public name is
loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from waypost import exceptions as exceptions
    from waypost.client import Client
    from waypost.engine import Engine, open, reembed
    from waypost.exceptions import WaypostError
    from waypost.memory import MemoryManager
    from waypost.model import (
        Action,
        Fact,
        Interaction,
        LinkKind,
        MemoryChanges,
        MemoryLink,
        MemoryRecord,
        MemoryType,
        NewMemory,
        Origin,
        Recall,
        RecalledMemory,
        RecallRequest,
        StageType,
        Stored,
        Tier,
        TimeRange,
        Transform,
        Trust,
        Weights,
    )
    from waypost.tokens import count_tokens

_HOMES = {
    "waypost.client": ("Client",),
    "waypost.engine": ("Engine", "open", "reembed"),
    "waypost.memory": ("MemoryManager",),
    "waypost.exceptions": ("WaypostError",),
    "waypost.tokens": ("count_tokens",),
    "waypost.model": (
        "Action",
        "Fact",
        "Interaction",
        "LinkKind",
        "MemoryChanges",
        "MemoryLink",
        "MemoryRecord",
        "MemoryType",
        "NewMemory",
        "Origin",
        "Recall",
        "RecallRequest",
        "RecalledMemory",
        "StageType",
        "Stored",
        "Tier",
        "TimeRange",
        "Transform",
        "Trust",
        "Weights",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Action",
    "Client",
    "Engine",
    "Fact",
    "Interaction",
    "LinkKind",
    "MemoryChanges",
    "MemoryLink",
    "MemoryManager",
    "MemoryRecord",
    "MemoryType",
    "NewMemory",
    "Origin",
    "Recall",
    "RecallRequest",
    "RecalledMemory",
    "StageType",
    "Stored",
    "Tier",
    "TimeRange",
    "Transform",
    "Trust",
    "WaypostError",
    "Weights",
    "__version__",
    "count_tokens",
    "exceptions",
    "open",
    "reembed",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    if name == "exceptions":
        return import_module("waypost.exceptions")
    raise AttributeError(f"module 'waypost' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
