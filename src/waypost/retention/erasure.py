"""Erasing for good: an agent, or everything that came from one source.

The one operation that destroys. It reaches the rows, vectors and history, the
text index and its files, caches and working memory, summaries built from what is
erased, records of runs that showed it, archived bundles, and the pages of the
database file. Each step can be repeated, so an erasure that was interrupted is
finished by running it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Connection

from waypost.model.retention import ErasureReport
from waypost.retention.archive import Progress, no_progress
from waypost.retention.archived_sources import ArchivedSources, Glimpse, touched_bundles
from waypost.retention.erasure_rows import erase_agent_rows, erase_memories, ids_of_source
from waypost.retention.erasure_runs import Doomed
from waypost.retention.objects import ObjectStore
from waypost.store.database import Database


class AgentIndex(Protocol):
    """What is held of an agent outside the database."""

    def forget(self, agent_id: str) -> None: ...


ClearWorking = Callable[[str], Awaitable[None]]


@dataclass
class Steps:
    """Counts the steps of one erasure for whoever watches it."""

    total: int
    progress: Progress
    _done: int = field(default=0)

    def done(self) -> None:
        self._done += 1
        self.progress(self._done, self.total)


_FIXED_STEPS = 4
"""The rows, the index, working memory, the files of the database."""


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

    async def erase_all(
        self, *, dry_run: bool = False, progress: Progress = no_progress
    ) -> ErasureReport:
        """Erase everything of the agent."""
        keys = await asyncio.to_thread(self._archived.keys)
        steps = Steps(_FIXED_STEPS + len(keys), progress)
        rows = await self._rows(dry_run, erase_agent_rows)
        facts = {"rows": rows, "archive_objects_deleted": len(keys)}
        if dry_run:
            return self._report(dry_run=True, **facts)
        steps.done()
        for key in keys:
            await asyncio.to_thread(self._archived.delete, key)
            steps.done()
        return await self._finish(steps, **facts)

    async def erase_source(
        self, source: str, *, dry_run: bool = False, progress: Progress = no_progress
    ) -> ErasureReport:
        """Erase what came from one source, what was derived from it, and what quotes it."""
        glimpses = await asyncio.to_thread(self._archived.glimpses)
        ids = await self._doomed(source, glimpses)
        bundles = touched_bundles(glimpses, set(ids))
        texts = await asyncio.to_thread(self._archived.texts, bundles, set(ids))
        doomed = Doomed(source, tuple(ids), tuple(texts))
        erased = await self._rows(dry_run, erase_memories, doomed, self._clock())
        facts = {
            "source": source,
            "memory_ids": tuple(ids),
            "rows": erased.rows,
            "summaries_rewritten": erased.summaries,
            "runs_erased": erased.runs,
            "facts_reopened": erased.reopened,
            "archive_objects_rewritten": sum(not emptied for emptied in bundles.values()),
            "archive_objects_deleted": sum(bundles.values()),
        }
        if dry_run:
            return self._report(dry_run=True, **facts)
        steps = Steps(_FIXED_STEPS + len(bundles), progress)
        steps.done()
        await self._rewrite_bundles(list(bundles), set(ids), steps)
        return await self._finish(steps, **facts)

    async def _doomed(self, source: str, glimpses: Sequence[Glimpse]) -> list[str]:
        """The memories of the source and their descendants, in the database and the archive."""
        ids = {one.memory_id for one in glimpses if one.source == source}
        while True:
            stored, made_from = await self._read(ids_of_source, source, sorted(ids))
            found = ids | stored
            made_from |= found
            found |= {one.memory_id for one in glimpses if made_from & set(one.derived_from)}
            if found == ids:
                return sorted(ids)
            ids = found

    async def _rewrite_bundles(self, keys: Sequence[str], ids: set[str], steps: Steps) -> None:
        """Put bundles without these memories, point the entries there, delete the old ones."""
        for key in keys:
            replacement = await asyncio.to_thread(self._archived.replacement, key, ids)
            await self._write(replacement.move_entries)
            await asyncio.to_thread(self._archived.remove, replacement)
            steps.done()
        await asyncio.to_thread(self._archived.delete_unfinished)

    async def _finish(self, steps: Steps, **facts: Any) -> ErasureReport:
        await asyncio.to_thread(self._index.forget, self._agent_id)
        steps.done()
        await self._clear_working(self._agent_id)
        steps.done()
        compacted = await self._database.compact()
        steps.done()
        return self._report(
            index_dropped=True, working_memory_cleared=True, storage_compacted=compacted, **facts
        )

    def _report(self, **facts: Any) -> ErasureReport:
        return ErasureReport(agent_id=self._agent_id, **facts)

    async def _rows(self, dry_run: bool, work: Any, *args: Any) -> Any:
        return await (self._write(rehearse, work, *args) if dry_run else self._write(work, *args))

    async def _read(self, work: Any, *args: Any) -> Any:
        return await self._database.read(work, self._agent_id, *args, agent=self._agent_id)

    async def _write(self, work: Any, *args: Any) -> Any:
        return await self._database.write(work, self._agent_id, *args, agent=self._agent_id)


def rehearse(connection: Connection, agent_id: str, work: Any, *args: Any) -> Any:
    """Do the work, take it back, and return what it would have done."""
    with connection.begin_nested() as savepoint:
        result = work(connection, agent_id, *args)
        savepoint.rollback()
    return result
