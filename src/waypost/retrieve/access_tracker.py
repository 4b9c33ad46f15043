"""Counting recalls without slowing them: noted in memory, written in the background.

A crash may lose the last counts; it never loses a memory.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from waypost.store import access
from waypost.store.database import Database


class AccessTracker:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._counts: dict[str, dict[int, tuple[int, datetime]]] = defaultdict(dict)

    def note(self, agent_id: str, row_ids: Iterable[int], now: datetime) -> None:
        with self._lock:
            counts = self._counts[agent_id]
            for row_id in row_ids:
                counts[row_id] = (counts.get(row_id, (0, now))[0] + 1, now)

    @property
    def pending(self) -> bool:
        return bool(self._counts)

    async def flush(self) -> None:
        """Write all counts noted so far."""
        with self._lock:
            taken, self._counts = self._counts, defaultdict(dict)
        for agent_id, counts in taken.items():
            await self._database.write(access.add, agent_id, counts, agent=agent_id)
