"""Working memory of this process. Bounded in tasks, tokens and time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from waypost.working.port import LIFETIME_SECONDS, WorkingEntry, latest_within

_MOST_TASKS = 1000


class InProcessWorkingMemory:
    def __init__(self, *, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer = timer
        self._held: OrderedDict[tuple[str, str], tuple[float, list[WorkingEntry]]] = OrderedDict()

    async def push(self, agent_id: str, task_id: str, entries: Sequence[WorkingEntry]) -> None:
        held = await self.entries(agent_id, task_id) or []
        known = {entry.memory_id for entry in entries}
        merged = [entry for entry in held if entry.memory_id not in known] + list(entries)
        self._held[agent_id, task_id] = (
            self._timer() + LIFETIME_SECONDS,
            latest_within(merged),
        )
        self._held.move_to_end((agent_id, task_id))
        while len(self._held) > _MOST_TASKS:
            self._held.popitem(last=False)

    async def entries(self, agent_id: str, task_id: str) -> list[WorkingEntry] | None:
        expires, held = self._held.get((agent_id, task_id), (0.0, []))
        if not held:
            return None
        if self._timer() >= expires:
            del self._held[agent_id, task_id]
            return None
        return list(held)

    async def clear(self, agent_id: str, task_id: str | None = None) -> None:
        for key in [key for key in self._held if key[0] == agent_id]:
            if task_id in (None, key[1]):
                del self._held[key]

    async def aclose(self) -> None:
        self._held.clear()
