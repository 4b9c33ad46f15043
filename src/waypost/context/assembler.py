"""The assembler: read the scene, recall, gather, assemble.

Below it lies only pure code and the read path. A retrieval that is degraded
gives a context that says so; it is never passed off as "nothing relevant".
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, RowMapping, select

from waypost.context.assemble import Material, assemble
from waypost.context.fencing import Fence
from waypost.context.gather import Caution, Citation, Found, Gatherer
from waypost.context.render import Renderer
from waypost.context.scene import Scene, load_scene
from waypost.context.summaries import Summaries, load_summaries
from waypost.exceptions import StorageError
from waypost.filters import parse_where
from waypost.filters.memory_fields import MEMORY_FIELDS
from waypost.model import LinkKind, MemoryRecord, Recall, RecallRequest, Weights
from waypost.model.context import ContextPackage, ContextProfile, ContextRequest
from waypost.model.vocabulary import Trust
from waypost.retrieve.access_tracker import AccessTracker
from waypost.retrieve.retriever import Retriever
from waypost.store.database import Database
from waypost.store.tables import content_items, memories

logger = logging.getLogger(__name__)

T = TypeVar("T")
Cautions = Callable[[str | None], Awaitable[Sequence[Caution]]]

# Recency and frequency stay out: a context must not change because time passed or it was read.
WEIGHTS = Weights(relevance=0.7, recency=0.0, frequency=0.0, stage=0.15, criticality=0.15)
_TOKENS_PER_MEMORY = 12
_FEWEST, _MOST = 10, 400
_MOST_CITATIONS = 10


async def no_cautions(_: str | None) -> Sequence[Caution]:
    return ()


@dataclass(frozen=True)
class Collected:
    """Everything that was read for one request."""

    request: ContextRequest
    task_id: str | None
    found: Found
    degraded: bool = False
    reasons: tuple[str, ...] = ()


class ContextAssembler:
    """Builds contexts for one agent."""

    def __init__(
        self,
        database: Database,
        retriever: Retriever,
        agent_id: str,
        *,
        tracker: AccessTracker,
        clock: Callable[[], datetime],
        cautions: Cautions = no_cautions,
    ) -> None:
        self._database = database
        self._retriever = retriever
        self._agent_id = agent_id
        self._tracker = tracker
        self._clock = clock
        self._cautions = cautions

    async def build(self, task_id: str | None, request: ContextRequest) -> ContextPackage:
        """The context of a task for one request; ``request.task_id`` serves when it is None."""
        package = self.format(await self.collect(task_id, request))
        await self._note_access(package)
        return package

    async def collect(self, task_id: str | None, request: ContextRequest) -> Collected:
        """Read everything the context may be made of; nothing is written."""
        task = task_id or request.task_id
        parse_where(request.where, MEMORY_FIELDS)
        try:
            return await self._collect(task, request)
        except StorageError as error:
            logger.warning("a context could not be put together: %s", error)
            scene = Scene(profile=request.profile or ContextProfile())
            reason = f"the memory could not be read: {error}"
            return Collected(request, task, Found(scene, ()), True, (reason,))

    async def _collect(self, task: str | None, request: ContextRequest) -> Collected:
        scene = await self._read(load_scene, task, request)
        recall = await self._recall(scene, request)
        recalled = [one.memory for one in recall.memories]
        shown = [*recalled, *scene.opening, *scene.latest]
        found = Found(
            scene=scene,
            recalled=recall.memories,
            cautions=await self._cautions(task),
            citations=await self._citations(recalled),
            summaries=await self._summaries(shown, task),
        )
        return Collected(request, task, found, recall.degraded, recall.reasons)

    def format(self, collected: Collected) -> ContextPackage:
        """Choose what fits and write it. Pure: the same collection gives the same text."""
        request, found = collected.request, collected.found
        profile = found.scene.profile
        counter = Renderer(Fence(self._agent_id), profile.encoding)
        gatherer = Gatherer(
            request.query, collected.task_id, max_tokens=request.max_tokens, count=counter.count
        )
        material = Material(
            gatherer.candidates(found),
            source_tokens=found.scene.source_tokens,
            degraded=collected.degraded,
            reasons=collected.reasons,
        )
        return assemble(
            material,
            agent_id=self._agent_id,
            max_tokens=request.max_tokens,
            profile=profile,
            split=found.scene.split,
        )

    async def _recall(self, scene: Scene, request: ContextRequest) -> Recall:
        if not request.query.strip():
            return Recall(memories=())
        parts = [part for part in (scene.scope, request.where) if part]
        wanted = RecallRequest(
            query=request.query,
            k=max(_FEWEST, min(_MOST, request.max_tokens // _TOKENS_PER_MEMORY)),
            where={"$and": parts} if parts else {},
            run_id=request.run_id,
            as_of=request.as_of,
            weights=WEIGHTS,
        )
        return await self._retriever.retrieve(wanted, now=self._clock(), track_access=False)

    async def _citations(self, recalled: Sequence[MemoryRecord]) -> Sequence[Citation]:
        ids = dict.fromkeys(
            link.target_id
            for memory in recalled
            for link in memory.links
            if link.kind is LinkKind.CITES
        )
        wanted = list(ids)[:_MOST_CITATIONS]
        return await self._read(load_citations, wanted) if wanted else ()

    async def _summaries(self, shown: Sequence[MemoryRecord], task_id: str | None) -> Summaries:
        if not any(memory.stage_id for memory in shown):
            return Summaries()
        return await self._read(load_summaries, shown, task_id)

    async def _read(self, work: Callable[..., T], *args: Any) -> T:
        return await self._database.read(work, self._agent_id, *args, agent=self._agent_id)

    async def _note_access(self, package: ContextPackage) -> None:
        """Count as recalled what the agent was given, not all that was looked at."""
        shown = [item.entry_id for item in package.items if item.why is not None]
        if not shown:
            return
        try:
            rows = await self._read(row_numbers, shown)
        except StorageError as error:
            logger.warning("what a context showed was not counted: %s", error)
            return
        self._tracker.note(self._agent_id, rows, self._clock())


def load_citations(connection: Connection, agent_id: str, ids: Sequence[str]) -> list[Citation]:
    """The cited items that can still be opened; of one id in several runs the newest."""
    statement = (
        select(content_items)
        .where(
            content_items.c.agent_id == agent_id,
            content_items.c.content_id.in_(ids),
            content_items.c.cleared_at.is_(None),
        )
        .order_by(content_items.c.created_at, content_items.c.run_id)
    )
    found = {row["content_id"]: _citation(row) for row in connection.execute(statement).mappings()}
    return list(found.values())


def _citation(row: RowMapping) -> Citation:
    what = row["title"] or row["source"] or row["kind"]
    return Citation(
        content_id=row["content_id"],
        text=f"{row['content_id']}: {what} ({row['type']}, {row['token_count']:,} tokens)",
        created_at=row["created_at"],
        trust=Trust(row["trust"]),
    )


def row_numbers(connection: Connection, agent_id: str, ids: Sequence[str]) -> tuple[int, ...]:
    statement = select(memories.c.row_id).where(
        memories.c.agent_id == agent_id, memories.c.memory_id.in_(ids)
    )
    return tuple(connection.execute(statement).scalars())
