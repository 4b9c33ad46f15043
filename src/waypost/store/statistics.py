"""Counting what an agent remembers."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from waypost.model.base import Value
from waypost.model.times import UtcTime
from waypost.store.tables import jobs, memories


class AgentStatistics(Value):
    memories: int
    active: int
    tokens: int
    by_type: dict[str, int]
    by_tier: dict[str, int]
    by_kind: dict[str, int]
    waiting_for_vectors: int
    first: UtcTime | None
    last: UtcTime | None


def of_agent(connection: Connection, agent_id: str) -> AgentStatistics:
    own = memories.c.agent_id == agent_id
    total, tokens, first, last = connection.execute(
        select(
            func.count(),
            func.coalesce(func.sum(memories.c.token_count), 0),
            func.min(memories.c.timestamp),
            func.max(memories.c.timestamp),
        ).where(own)
    ).one()
    active = select(func.count()).where(
        own, memories.c.superseded_by.is_(None), memories.c.valid_to.is_(None)
    )
    waiting = select(func.count()).where(jobs.c.agent_id == agent_id, jobs.c.kind == "embed")
    return AgentStatistics(
        memories=total,
        active=connection.execute(active).scalar_one(),
        tokens=int(tokens),
        by_type=_by(connection, agent_id, "type"),
        by_tier=_by(connection, agent_id, "tier"),
        by_kind=_by(connection, agent_id, "kind"),
        waiting_for_vectors=connection.execute(waiting).scalar_one(),
        first=first,
        last=last,
    )


def _by(connection: Connection, agent_id: str, name: str) -> dict[str, int]:
    column = memories.c[name]
    statement = (
        select(column, func.count())
        .where(memories.c.agent_id == agent_id)
        .group_by(column)
        .order_by(column)
    )
    return {row[0]: row[1] for row in connection.execute(statement)}


def agents(connection: Connection) -> list[str]:
    """Every agent that has memories."""
    return list(
        connection.execute(
            select(memories.c.agent_id).distinct().order_by(memories.c.agent_id)
        ).scalars()
    )
