"""What an in-process index has not seen yet, in the order in which it happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Select, String, and_, bindparam, exists, func, select

from waypost.model.profile import AgentProfile
from waypost.store.profiles import from_stored
from waypost.store.tables import (
    agents,
    embedders,
    embeddings,
    error_records,
    history,
    links,
    memories,
)


@dataclass(frozen=True, slots=True)
class FeedRow:
    """The columns of a memory that ranking needs."""

    row_id: int
    index_terms: str
    entities: Sequence[str]
    timestamp: datetime
    run_id: str | None
    task_id: str | None
    valid_to: datetime | None
    superseded_by: str | None
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class AgentState:
    """What a retrieval must know before it starts, read with one statement."""

    newest_change: int
    embedder: str | None
    has_links: bool
    has_errors: bool
    profile: AgentProfile | None
    """None while the agent has none of its own."""


_AGENT = bindparam("agent_id", type_=String)
_STATE = select(
    select(func.max(history.c.sequence)).where(history.c.agent_id == _AGENT).scalar_subquery(),
    select(embedders.c.name).where(embedders.c.active.is_(True)).limit(1).scalar_subquery(),
    exists().where(links.c.agent_id == _AGENT),
    exists().where(error_records.c.agent_id == _AGENT),
    select(agents.c.profile).where(agents.c.agent_id == _AGENT).scalar_subquery(),
)


def state(connection: Connection, agent_id: str) -> AgentState:
    newest, embedder, has_links, has_errors, stored = connection.execute(
        _STATE, {"agent_id": agent_id}
    ).one()
    profile = None if stored is None else from_stored(stored)
    return AgentState(int(newest or 0), embedder, bool(has_links), bool(has_errors), profile)


def everything(connection: Connection, agent_id: str, embedder: str) -> Iterator[list[FeedRow]]:
    """All rows of an agent in row order, in portions."""
    statement = _rows(embedder).where(memories.c.agent_id == agent_id).order_by(memories.c.row_id)
    result = connection.execution_options(yield_per=2000).execute(statement)
    for portion in result.partitions():
        yield [FeedRow(*row) for row in portion]


def changed_rows(connection: Connection, agent_id: str, after: int) -> list[int]:
    """The rows touched after a sequence number, each once."""
    statement = (
        select(history.c.row_id)
        .where(history.c.agent_id == agent_id, history.c.sequence > after)
        .group_by(history.c.row_id)
        .order_by(func.min(history.c.sequence))
    )
    return list(connection.execute(statement).scalars())


def rows(
    connection: Connection, agent_id: str, embedder: str, row_ids: Sequence[int]
) -> list[FeedRow]:
    """The present state of these rows; rows that are gone are missing from the answer."""
    statement = _rows(embedder).where(
        memories.c.agent_id == agent_id, memories.c.row_id.in_(row_ids)
    )
    return [FeedRow(*row) for row in connection.execute(statement.order_by(memories.c.row_id))]


def _rows(embedder: str) -> Select[Any]:
    own_vector = and_(embeddings.c.row_id == memories.c.row_id, embeddings.c.embedder == embedder)
    return select(
        memories.c.row_id,
        memories.c.index_terms,
        memories.c.entities,
        memories.c.timestamp,
        memories.c.run_id,
        memories.c.task_id,
        memories.c.valid_to,
        memories.c.superseded_by,
        embeddings.c.vector,
    ).select_from(memories.outerjoin(embeddings, own_vector))
