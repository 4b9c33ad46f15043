"""What a working memory does, and the entries it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.model.base import Value
from waypost.model.ids import MintedId
from waypost.model.memory import MemoryRecord
from waypost.model.times import UtcTime

LIFETIME_SECONDS = 3600
TOKENS = 4000
MOST_ENTRIES = 200


class WorkingEntry(Value):
    """One memory of the task, as much of it as a next step needs."""

    memory_id: MintedId
    kind: str
    content: str
    token_count: int
    timestamp: UtcTime

    @classmethod
    def of(cls, memory: MemoryRecord) -> WorkingEntry:
        return cls(
            memory_id=memory.memory_id,
            kind=memory.kind,
            content=memory.content,
            token_count=memory.token_count,
            timestamp=memory.timestamp,
        )


class WorkingMemory(Protocol):
    """Entries by agent and task, oldest first, gone an hour after the last push.

    ``push`` and ``entries`` never fail the caller: what cannot be kept is not kept,
    and ``entries`` is None when nothing is known. ``clear`` raises when it cannot
    promise that nothing is left.
    """

    async def push(self, agent_id: str, task_id: str, entries: Sequence[WorkingEntry]) -> None: ...

    async def entries(self, agent_id: str, task_id: str) -> list[WorkingEntry] | None: ...

    async def clear(self, agent_id: str, task_id: str | None = None) -> None:
        """Forget one task, or every task of the agent."""

    async def aclose(self) -> None: ...


def latest_within(entries: Sequence[WorkingEntry], tokens: int = TOKENS) -> list[WorkingEntry]:
    """The newest entries that together stay within the limit, oldest first."""
    kept: list[WorkingEntry] = []
    for entry in reversed(entries):
        tokens -= entry.token_count
        if tokens < 0:
            break
        kept.append(entry)
    return kept[::-1]
