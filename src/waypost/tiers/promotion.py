"""Promotion: a memory of a task becomes one of its project, one of a project becomes global.

Only when asked, one step at a time, and never across projects: a promoted memory is
a copy in the higher tier with the trust of the original, a parent link to it, and a
note of where it came from that stays when the original is archived. Undoing a
promotion removes the copy and reopens what it had superseded.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from waypost.exceptions import Forbidden, InvalidInput
from waypost.model import LinkKind, MemoryLink, MemoryRecord, MemoryType, NewMemory, Stored, Tier
from waypost.store import memories
from waypost.store.database import Database
from waypost.store.tables import links, tasks
from waypost.store.tables import memories as table
from waypost.validation import checked_choice
from waypost.write.writer import Writer

PROVENANCE = "promoted_from"

_COPIED = (
    "content", "kind", "summary", "entities", "facts", "keywords", "tags", "source", "origin",
    "trust", "importance", "is_critical", "criticality_reason", "timestamp", "valid_from",
    "valid_to", "stage_relevance_map", "actions", "outcome", "success", "run_id",
)  # fmt: skip


class Promoter:
    """Promotes for one agent."""

    def __init__(
        self, database: Database, writer: Writer, agent_id: str, *, clock: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._writer = writer
        self._agent_id = agent_id
        self._clock = clock

    async def promote(
        self,
        memory_id: str,
        to: Tier | str | None = None,
        *,
        project_id: str | None = None,
        actor: str | None = None,
    ) -> Stored:
        """Copy a memory one tier up; what is there already is returned as a duplicate."""
        memory, home = await self._database.read(
            origin_of, self._agent_id, memory_id, agent=self._agent_id
        )
        target = _target(memory, to, home or project_id)
        _check_project(memory, target, home, project_id)
        project = (home or project_id) if target is Tier.PROJECT else None
        known = await self._database.read(
            copies_of, self._agent_id, memory_id, target, agent=self._agent_id
        )
        if known:
            return Stored(memory=known[0], duplicate=True)
        return (await self._writer.add([_copy(memory, project)], actor=actor))[0]

    async def undo(self, promoted_id: str, *, actor: str | None = None) -> None:
        """Take a promoted copy back; the original is not touched."""
        await self._database.write(
            undo_promotion, self._agent_id, promoted_id, self._clock(), actor, agent=self._agent_id
        )


def origin_of(
    connection: Connection, agent_id: str, memory_id: str
) -> tuple[MemoryRecord, str | None]:
    """The memory and the project it belongs to, by itself or through its task."""
    memory = memories.get(connection, agent_id, memory_id)
    if memory.project_id is not None or memory.task_id is None:
        return memory, memory.project_id
    project = select(tasks.c.project_id).where(
        tasks.c.agent_id == agent_id, tasks.c.task_id == memory.task_id
    )
    return memory, connection.execute(project).scalar()


def copies_of(
    connection: Connection, agent_id: str, memory_id: str, tier: Tier
) -> list[MemoryRecord]:
    """The promoted copies that a memory already has in a tier."""
    children = select(links.c.source_id).where(
        links.c.agent_id == agent_id,
        links.c.kind == LinkKind.PARENT.value,
        links.c.target_id == memory_id,
    )
    found = memories.by_ids(connection, agent_id, list(connection.execute(children).scalars()))
    return [one for one in found.values() if one.tier is tier and PROVENANCE in one.metadata]


def _target(memory: MemoryRecord, to: Tier | str | None, project_id: str | None) -> Tier:
    """The next tier up; asking for another one is refused."""
    if memory.tier is Tier.GLOBAL:
        raise InvalidInput("a global memory cannot be promoted further")
    above = Tier.PROJECT if memory.tier is Tier.TASK and project_id else Tier.GLOBAL
    wanted = above if to is None else checked_choice(Tier, to)
    if wanted is Tier.PROJECT and above is Tier.GLOBAL and memory.tier is Tier.TASK:
        raise InvalidInput("the task belongs to no project; pass project_id to promote into one")
    if wanted is not above:
        raise InvalidInput(
            f"a {memory.tier} memory is promoted to {above}, one step at a time, not to {wanted}"
        )
    return wanted


def _check_project(
    memory: MemoryRecord, target: Tier, home: str | None, wanted: str | None
) -> None:
    if target is Tier.PROJECT and wanted is not None and home not in (None, wanted):
        raise Forbidden(
            f"memory {memory.memory_id} belongs to project {home!r} and cannot be promoted into "
            f"project {wanted!r}"
        )


def _copy(memory: MemoryRecord, project_id: str | None) -> NewMemory:
    came_from = {
        "memory_id": memory.memory_id,
        "tier": memory.tier.value,
        "task_id": memory.task_id,
        "project_id": memory.project_id,
    }
    kept_links = [link for link in memory.links if link.kind is LinkKind.CITES]
    parent = MemoryLink(kind=LinkKind.PARENT, target_id=memory.memory_id)
    # Scratch notes have a type that ends with the task; what is worth promoting is knowledge.
    type_ = MemoryType.SEMANTIC if memory.type is MemoryType.WORKING else memory.type
    metadata = {k: v for k, v in memory.metadata.items() if k not in (PROVENANCE, MARK)}
    return NewMemory(
        type=type_,
        project_id=project_id,
        metadata={**metadata, PROVENANCE: came_from},
        links=(*kept_links, parent),
        **{name: getattr(memory, name) for name in _COPIED},
    )


MARK = "promote_when_done"


def undo_promotion(
    connection: Connection, agent_id: str, promoted_id: str, now: datetime, actor: str | None
) -> None:
    memory = memories.get(connection, agent_id, promoted_id)
    if PROVENANCE not in memory.metadata:
        raise InvalidInput(f"memory {promoted_id} was not promoted, so there is nothing to undo")
    closed = select(table.c.memory_id).where(
        table.c.agent_id == agent_id, table.c.superseded_by == promoted_id
    )
    reopened: dict[str, Any] = {"valid_to": None, "superseded_by": None}
    for memory_id in connection.execute(closed).scalars().all():
        memories.change(
            connection, agent_id, memory_id, reopened, now=now, operation="reopen", actor=actor
        )
    memories.remove(
        connection, agent_id, [promoted_id], now=now, operation="undo_promotion", actor=actor
    )
