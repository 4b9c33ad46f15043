"""Counting how often memories were recalled."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite

from waypost.store.tables import accesses, memories


def add(connection: Connection, agent_id: str, counts: Mapping[int, tuple[int, datetime]]) -> None:
    """Add to the counts of rows; rows that were deleted meanwhile are passed over."""
    alive = connection.execute(
        select(memories.c.row_id).where(
            memories.c.agent_id == agent_id, memories.c.row_id.in_(list(counts))
        )
    ).scalars()
    rows = [
        {"row_id": row_id, "agent_id": agent_id, "access_count": counts[row_id][0],
         "last_accessed": counts[row_id][1]}
        for row_id in sorted(alive)
    ]  # fmt: skip
    if rows:
        connection.execute(_upsert(connection.dialect.name), rows)


def _upsert(dialect: str) -> Any:
    module: Any = sqlite if dialect == "sqlite" else postgresql
    statement = module.insert(accesses).values(
        {column.name: bindparam(column.name) for column in accesses.c}
    )
    return statement.on_conflict_do_update(
        index_elements=["row_id"],
        set_={
            "access_count": accesses.c.access_count + statement.excluded.access_count,
            "last_accessed": statement.excluded.last_accessed,
        },
    )
