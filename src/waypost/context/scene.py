"""Reading what surrounds a question: the task, its stages, its first and last memories.

One synchronous function for one read transaction. Everything is limited to the
scope of the request: the task's own memories, those of its project, and those
outside any project. Memories of another project are never read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, RowMapping, exists, func, select

from waypost.filters import Condition, parse_query, parse_where
from waypost.filters.memory_fields import MEMORY_FIELDS
from waypost.filters.sql import where_clause
from waypost.model import MemoryRecord
from waypost.model.context import ContextProfile
from waypost.model.vocabulary import CONSTRAINT, CONVENTION, PREFERENCE
from waypost.store import memories as repository
from waypost.store import profiles
from waypost.store.tables import memories, stages, tasks

_STANDING = (PREFERENCE, CONVENTION, CONSTRAINT)
_MOST_STANDING = 30


@dataclass(frozen=True)
class Scene:
    """Where a request stands."""

    task: RowMapping | None = None
    stages: tuple[RowMapping, ...] = ()
    opening: tuple[MemoryRecord, ...] = ()
    latest: tuple[MemoryRecord, ...] = ()
    standing: tuple[MemoryRecord, ...] = ()
    project_id: str | None = None
    scope: dict[str, Any] = field(default_factory=dict)
    source_tokens: int = 0
    profile: ContextProfile = field(default_factory=ContextProfile)


def load_scene(
    connection: Connection,
    agent_id: str,
    task_id: str | None,
    project_id: str | None,
    profile: ContextProfile | None,
) -> Scene:
    task = _task(connection, agent_id, task_id)
    project = project_id or (task["project_id"] if task else None)
    scope = _scope(connection, agent_id, task_id, project)
    where = parse_where(scope, MEMORY_FIELDS)
    chosen = profile or read_profile(connection, agent_id)
    return Scene(
        task=task,
        stages=_stages(connection, agent_id, task_id),
        opening=_ends(connection, agent_id, task_id, "-timestamp", chosen.head),
        latest=_ends(connection, agent_id, task_id, "timestamp", max(chosen.window, chosen.tail)),
        standing=_standing(connection, agent_id, scope),
        project_id=project,
        scope=scope,
        source_tokens=_tokens(connection, agent_id, where if scope else None),
        profile=chosen,
    )


def read_profile(connection: Connection, agent_id: str) -> ContextProfile:
    """The agent's own profile, or the default one."""
    return profiles.read(connection, agent_id).context


def _task(connection: Connection, agent_id: str, task_id: str | None) -> RowMapping | None:
    if task_id is None:
        return None
    statement = select(tasks).where(tasks.c.agent_id == agent_id, tasks.c.task_id == task_id)
    return connection.execute(statement).mappings().first()


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


def _ends(
    connection: Connection, agent_id: str, task_id: str | None, order_by: str, count: int
) -> tuple[MemoryRecord, ...]:
    if task_id is None or count == 0:
        return ()
    query = parse_query({"task_id": task_id}, MEMORY_FIELDS, order_by=order_by, limit=count)
    return tuple(repository.find(connection, agent_id, query))


def _standing(
    connection: Connection, agent_id: str, scope: dict[str, Any]
) -> tuple[MemoryRecord, ...]:
    """Preferences, conventions and constraints in force: they matter to every question."""
    where = {"$and": [{"kind": list(_STANDING), "valid_to": None, "superseded_by": None}]}
    if scope:
        where["$and"].append(scope)
    query = parse_query(where, MEMORY_FIELDS, order_by="importance", limit=_MOST_STANDING)
    return tuple(repository.find(connection, agent_id, query))


def _tokens(connection: Connection, agent_id: str, where: Condition | None) -> int:
    statement = select(func.coalesce(func.sum(memories.c.token_count), 0)).where(
        memories.c.agent_id == agent_id
    )
    if where is not None:
        clause = where_clause(where, repository.COLUMNS, connection.dialect.name)
        statement = statement.where(clause)
    return int(connection.execute(statement).scalar_one())
