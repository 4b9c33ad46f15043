"""Erasing for good: an agent, or everything that came from one source.

The one operation that destroys. It reaches the rows, vectors and history, the
text index and its files, caches and working memory, summaries built from what is
erased, archived bundles, and the pages of the database file. Each step can be
repeated, so an erasure that was interrupted is finished by running it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Protocol

from waypost.model.retention import ErasureReport
from waypost.retention.archived_sources import ArchivedSources
from waypost.retention.erasure_rows import erase_agent_rows, erase_memories, ids_of_source
from waypost.retention.objects import ObjectStore
from waypost.store.database import Database


class AgentIndex(Protocol):
    """What is held of an agent outside the database."""

    def forget(self, agent_id: str) -> None: ...


ClearWorking = Callable[[str], Awaitable[None]]


class Eraser:
    """Erases for one agent."""

    def __init__(
        self,
        database: Database,
        objects: ObjectStore,
        agent_id: str,
        *,
        index: AgentIndex,
        clear_working: ClearWorking,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._archived = ArchivedSources(objects, agent_id, clock=clock)
        self._agent_id = agent_id
        self._index = index
        self._clear_working = clear_working
        self._clock = clock

    async def erase_all(self) -> ErasureReport:
        """Erase everything of the agent."""
        rows = await self._write(erase_agent_rows)
        deleted = await asyncio.to_thread(self._archived.delete_all)
        return await self._finish(rows=rows, archive_objects_deleted=deleted)

    async def erase_source(self, source: str) -> ErasureReport:
        """Erase what came from one source, what was derived from it, and what quotes it."""
        ids = await self._doomed(source)
        erased = await self._write(erase_memories, ids, source, self._clock())
        rewritten, deleted = await self._rewrite_bundles(set(ids))
        return await self._finish(
            source=source,
            memory_ids=tuple(ids),
            rows=erased.rows,
            summaries_rewritten=erased.summaries,
            archive_objects_rewritten=rewritten,
            archive_objects_deleted=deleted,
        )

    async def _doomed(self, source: str) -> list[str]:
        """The memories of the source and their descendants, in the database and the archive."""
        ids = set(await asyncio.to_thread(self._archived.ids_of_source, source))
        while True:
            found = ids | set(await self._read(ids_of_source, source, sorted(ids)))
            found |= await asyncio.to_thread(self._archived.descendants, found)
            if found == ids:
                return sorted(ids)
            ids = found

    async def _rewrite_bundles(self, ids: set[str]) -> tuple[int, int]:
        """Put bundles without these memories, point the entries there, delete the old ones."""
        plan = await asyncio.to_thread(self._archived.replacements, ids)
        for replacement in plan:
            await asyncio.to_thread(self._archived.put, replacement)
            await self._write(replacement.move_entries)
            await asyncio.to_thread(self._archived.remove, replacement)
        rewritten = sum(bool(replacement.lines) for replacement in plan)
        return rewritten, len(plan) - rewritten

    async def _finish(self, **facts: Any) -> ErasureReport:
        await asyncio.to_thread(self._index.forget, self._agent_id)
        await self._clear_working(self._agent_id)
        await self._database.compact()
        return ErasureReport(
            agent_id=self._agent_id,
            index_dropped=True,
            working_memory_cleared=True,
            storage_compacted=True,
            **facts,
        )

    async def _read(self, work: Any, *args: Any) -> Any:
        return await self._database.read(work, self._agent_id, *args, agent=self._agent_id)

    async def _write(self, work: Any, *args: Any) -> Any:
        return await self._database.write(work, self._agent_id, *args, agent=self._agent_id)
