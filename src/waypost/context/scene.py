"""Reading what surrounds a question: the task, its stages, its first and last memories.

One synchronous function for one read transaction. Everything is limited to the
scope of the request: the task's own memories, those of its project, and those
outside any project. Memories of another project are never read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, exists, func, select

from waypost.context.learning import learned_split
from waypost.exceptions import Forbidden
from waypost.filters import Condition, parse_query, parse_where
from waypost.filters.memory_fields import MEMORY_FIELDS
from waypost.filters.sql import where_clause
from waypost.model import MemoryRecord
from waypost.model.context import ContextProfile, ContextRequest, TierSplit
from waypost.model.vocabulary import CONSTRAINT, CONVENTION, PREFERENCE
from waypost.store import memories as repository
from waypost.store import profiles
from waypost.store.tables import memories, stages, tasks

_STANDING = (PREFERENCE, CONVENTION, CONSTRAINT)
_MOST_STANDING = 30


@dataclass(frozen=True)
class Scene:
    """Where a request stands. ``latest`` runs from the newest memory of the task backwards."""

    task: RowMapping | None = None
    stages: tuple[RowMapping, ...] = ()
    opening: tuple[MemoryRecord, ...] = ()
    latest: tuple[MemoryRecord, ...] = ()
    standing: tuple[MemoryRecord, ...] = ()
    project_id: str | None = None
    bounded: bool = False
    scope: dict[str, Any] = field(default_factory=dict)
    source_tokens: int = 0
    profile: ContextProfile = field(default_factory=ContextProfile)
    split: TierSplit = field(default_factory=TierSplit)

    def may_show(self, memory: MemoryRecord) -> bool:
        """A request for a task or a project sees no other project."""
        return not self.bounded or memory.project_id in (None, self.project_id)


def load_scene(
    connection: Connection, agent_id: str, task_id: str | None, request: ContextRequest
) -> Scene:
    task = _task(connection, agent_id, task_id)
    project = _project(connection, agent_id, task_id, task, request.project_id)
    scope = _scope(connection, agent_id, task_id, project)
    where = parse_where(scope, MEMORY_FIELDS)
    agent = profiles.read(connection, agent_id)
    profile = request.profile or agent.context
    read = _Reading(connection, agent_id, request.as_of)
    return Scene(
        task=task,
        stages=_stages(connection, agent_id, task_id),
        opening=read.of_task(task_id, "-timestamp", profile.head),
        latest=read.of_task(task_id, "timestamp", max(2 * profile.window, profile.tail)),
        standing=read.standing(scope),
        project_id=project,
        bounded=project is not None or task_id is not None,
        scope=scope,
        source_tokens=_tokens(connection, agent_id, where if scope else None),
        profile=profile,
        split=request.split or learned_split(profile, agent.use).split,
    )


def _task(connection: Connection, agent_id: str, task_id: str | None) -> RowMapping | None:
    if task_id is None:
        return None
    statement = select(tasks).where(tasks.c.agent_id == agent_id, tasks.c.task_id == task_id)
    return connection.execute(statement).mappings().first()


def _project(
    connection: Connection,
    agent_id: str,
    task_id: str | None,
    task: RowMapping | None,
    wanted: str | None,
) -> str | None:
    """The project of the request; a task of one project cannot be asked about in another."""
    home = task["project_id"] if task else _project_of_memories(connection, agent_id, task_id)
    if wanted is not None and home not in (None, wanted):
        raise Forbidden(
            f"task {task_id!r} belongs to project {home!r} and cannot be read for project "
            f"{wanted!r}"
        )
    return wanted or home


def _project_of_memories(connection: Connection, agent_id: str, task_id: str | None) -> str | None:
    """The project that a task's memories name, for a task that was never started."""
    if task_id is None:
        return None
    statement = select(func.min(memories.c.project_id)).where(
        memories.c.agent_id == agent_id, memories.c.task_id == task_id
    )
    return connection.execute(statement).scalar()


def _scope(
    connection: Connection, agent_id: str, task_id: str | None, project_id: str | None
) -> dict[str, Any]:
    """What may be read, as a filter; empty when that is everything the agent has."""
    if project_id is None and task_id is None:
        return {}
    other = (
        memories.c.project_id != project_id if project_id else memories.c.project_id.is_not(None)
    )
    elsewhere = select(
        exists().where(memories.c.agent_id == agent_id, memories.c.project_id.is_not(None), other)
    )
    if not connection.execute(elsewhere).scalar():
        return {}
    return {"$or": [{"project_id": project_id}, {"project_id": None}]}


def _stages(connection: Connection, agent_id: str, task_id: str | None) -> tuple[RowMapping, ...]:
    if task_id is None:
        return ()
    statement = (
        select(stages)
        .where(stages.c.agent_id == agent_id, stages.c.task_id == task_id)
        .order_by(stages.c.created_at, stages.c.stage_id)
    )
    return tuple(connection.execute(statement).mappings())


@dataclass(frozen=True)
class _Reading:
    """Memories that hold at a moment: now, or at ``as_of``."""

    connection: Connection
    agent_id: str
    as_of: datetime | None

    def of_task(self, task_id: str | None, order_by: str, count: int) -> tuple[MemoryRecord, ...]:
        if task_id is None or count == 0:
            return ()
        return self._find({"task_id": task_id}, order_by, count)

    def standing(self, scope: dict[str, Any]) -> tuple[MemoryRecord, ...]:
        """Preferences, conventions and constraints in force: they matter to every question."""
        where: dict[str, Any] = {"kind": list(_STANDING)}
        return self._find({"$and": [where, scope]} if scope else where, "importance")

    def _find(
        self, where: dict[str, Any], order_by: str, limit: int = _MOST_STANDING
    ) -> tuple[MemoryRecord, ...]:
        held = {"$and": [where, self._holding()]}
        query = parse_query(held, MEMORY_FIELDS, order_by=order_by, limit=limit)
        return tuple(repository.find(self.connection, self.agent_id, query))

    def _holding(self) -> dict[str, Any]:
        if self.as_of is None:
            return {"valid_to": None, "superseded_by": None}
        ended = {"valid_to": {"$lte": self.as_of}}
        return {"timestamp": {"$lte": self.as_of}, "$not": ended}


def _tokens(connection: Connection, agent_id: str, where: Condition | None) -> int:
    statement = select(func.coalesce(func.sum(memories.c.token_count), 0)).where(
        memories.c.agent_id == agent_id
    )
    if where is not None:
        clause = where_clause(where, repository.COLUMNS, connection.dialect.name)
        statement = statement.where(clause)
    return int(connection.execute(statement).scalar_one())
