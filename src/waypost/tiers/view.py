"""What the three tier stores share: a view of one agent's memories, limited to a scope.

A view adds its own place to what it stores and its own scope to what it reads, so
no argument of a call can reach outside.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from waypost.exceptions import NotFound
from waypost.filters import Condition, parse_query, parse_where
from waypost.filters.memory_fields import MEMORY_FIELDS
from waypost.model import CallerId, MemoryRecord, NewMemory, Recall, RecallRequest, Stored, Tier
from waypost.model.base import Value
from waypost.retention.archive import Archive
from waypost.retention.pruner import Pruner
from waypost.retrieve.retriever import Retriever
from waypost.store import memories
from waypost.store.database import Database
from waypost.tiers.promotion import Promoter
from waypost.validation import checked
from waypost.write.writer import Writer


@dataclass(frozen=True, slots=True)
class TierParts:
    """What tier stores are made of; the engine wires it."""

    database: Database
    agent_id: str
    writer: Writer
    retriever: Retriever
    archive: Archive
    pruner: Pruner
    promoter: Promoter
    clock: Callable[[], datetime]
    after_write: Callable[[Sequence[Stored]], Awaitable[None]]
    after_removal: Callable[[], Awaitable[None]]


class _Place(Value):
    task_id: CallerId | None
    project_id: CallerId | None


class TierView:
    """Reads and writes within one scope."""

    tier: Tier

    def __init__(
        self, parts: TierParts, scope: Mapping[str, Any], place: Mapping[str, Any]
    ) -> None:
        checked(_Place, place)
        self._parts = parts
        self._scope = dict(scope)
        self._place = dict(place)

    async def query(
        self,
        filters: Mapping[str, Any] | None = None,
        limit: int = 100,
        order_by: str = "timestamp",
    ) -> list[MemoryRecord]:
        """Memories of this view that match, newest first; ``-`` before the field reverses."""
        where = self._within(filters)
        query = parse_query(where, MEMORY_FIELDS, order_by=order_by, limit=limit)
        found: list[MemoryRecord] = await self._read(memories.find, query)
        return found

    async def search(self, query: str, k: int = 5, **filters: Any) -> Recall:
        """Recall from this view only; ``filters`` are fields of ``RecallRequest``."""
        where = self._within(filters.pop("where", None))
        values = {**filters, "query": query, "k": k, "where": where}
        return await self._parts.retriever.retrieve(checked(RecallRequest, values))

    async def get(self, memory_id: str) -> MemoryRecord | None:
        """The memory when it is in this view, else None."""
        found = await self.query({"memory_id": memory_id}, limit=1)
        return found[0] if found else None

    async def list_all(self) -> list[MemoryRecord]:
        """Every memory of this view, oldest first."""
        return await self.query(None, limit=100_000, order_by="-timestamp")

    async def count(self) -> int:
        return int(await self._read(memories.count, self._condition()))

    async def delete(self, memory_id: str) -> bool:
        """Delete one memory of this view; False when it holds none such."""
        if await self.get(memory_id) is None:
            return False
        await self._parts.database.write(
            _remove_one,
            self._parts.agent_id,
            memory_id,
            self._parts.clock(),
            agent=self._parts.agent_id,
        )
        await self._parts.after_removal()
        return True

    async def _archive_all(self, where: Mapping[str, Any] | None, reason: str) -> int:
        """Archive what matches, until nothing of it is left."""
        taken = 0
        while found := await self.query(where, limit=5000, order_by="-timestamp"):
            ids = [memory.memory_id for memory in found]
            left = await self._parts.archive.take(ids, reason=reason)
            taken += len(left)
            if not left:
                break
        await self._parts.after_removal()
        return taken

    async def _add(self, content: str, **fields: Any) -> MemoryRecord:
        new = checked(NewMemory, {"content": content, **fields, **self._place})
        stored = await self._parts.writer.add([new])
        await self._parts.after_write(stored)
        return stored[0].memory

    async def _require(self, memory_id: str) -> MemoryRecord:
        found = await self.get(memory_id)
        if found is None:
            raise NotFound(f"no memory {memory_id} in this {self.tier} memory", memory_id=memory_id)
        return found

    def _within(self, filters: Mapping[str, Any] | None) -> dict[str, Any]:
        return {"$and": [self._scope, dict(filters)]} if filters else dict(self._scope)

    def _condition(self) -> Condition:
        return parse_where(self._scope, MEMORY_FIELDS)

    async def _read(self, work: Any, *args: Any) -> Any:
        agent = self._parts.agent_id
        return await self._parts.database.read(work, agent, *args, agent=agent)


def _remove_one(connection: Any, agent_id: str, memory_id: str, now: datetime) -> None:
    memories.remove(connection, agent_id, [memory_id], now=now)
