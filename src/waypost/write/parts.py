"""What writing for one agent needs; the engine wires it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from waypost.embed.port import Embedder
from waypost.encode.by_model import ModelEncoder
from waypost.store.database import Database


@dataclass(frozen=True, slots=True)
class WriteParts:
    """``encoder`` is None where texts are encoded locally; ``on_waiting`` wakes the queue."""

    database: Database
    embedder: Embedder
    agent_id: str
    clock: Callable[[], datetime]
    encoder: ModelEncoder | None = None
    on_waiting: Callable[[], None] = lambda: None
