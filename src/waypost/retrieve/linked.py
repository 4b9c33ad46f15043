"""Following links: what the best hits point to is a candidate too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from sqlalchemy import Connection, bindparam, or_, select

from waypost.filters.sql import where_clause
from waypost.index.rows import Candidates, RouteScores
from waypost.model import RecallRequest
from waypost.retrieve.holding import still_holds, wants_superseded
from waypost.retrieve.scope import condition
from waypost.retrieve.scoring import Asked, Scored, rank
from waypost.store.memories import COLUMNS
from waypost.store.tables import accesses, links, memories

FOLLOWED = 5
"""How many of the best hits have their links followed."""
DAMPING = 0.5
"""A linked memory is taken to be this much as relevant as the hit that led to it."""

_ENDS = select(links.c.source_id, links.c.target_id).where(
    links.c.agent_id == bindparam("agent_id"),
    or_(
        links.c.source_id.in_(bindparam("ids", expanding=True)),
        links.c.target_id.in_(bindparam("targets", expanding=True)),
    ),
)


def add_linked(
    connection: Connection,
    agent_id: str,
    ranked: Sequence[Scored],
    request: RecallRequest,
    asked: Asked,
) -> list[Scored]:
    """Merge the memories linked with the best hits into the ranking."""
    known = {item.memory_id for item in ranked}
    leads = _leads(connection, agent_id, ranked[:FOLLOWED], known)
    if not leads:
        return list(ranked)
    rows = _allowed_rows(connection, agent_id, list(leads), request, asked.now)
    if not rows:
        return list(ranked)
    relevance = np.array([leads[memory_id] for memory_id in rows.values()], np.float32)
    order = np.argsort(-relevance, kind="stable")
    candidates = Candidates(
        row_ids=np.array(list(rows), np.int64)[order],
        relevance=relevance[order],
        routes={"link": RouteScores(relevance[order], np.arange(1, len(rows) + 1, dtype=np.int32))},
    )
    merged = [*ranked, *rank(connection, agent_id, candidates, request, asked)]
    return sorted(merged, key=lambda item: -item.score)


def _leads(
    connection: Connection, agent_id: str, hits: Sequence[Scored], known: set[str]
) -> dict[str, float]:
    """Ids linked with a hit in either direction, with the relevance they inherit."""
    relevance = {item.memory_id: item.factors[0] for item in hits}
    ids = list(relevance)
    found = connection.execute(_ENDS, {"agent_id": agent_id, "ids": ids, "targets": ids})
    leads: dict[str, float] = {}
    for source, target in found:
        for end, other in ((source, target), (target, source)):
            if end in relevance and other not in known:
                leads[other] = max(leads.get(other, 0.0), DAMPING * relevance[end])
    return leads


def _allowed_rows(
    connection: Connection,
    agent_id: str,
    ids: Sequence[str],
    request: RecallRequest,
    now: datetime,
) -> dict[int, str]:
    statement = (
        select(memories.c.row_id, memories.c.memory_id)
        .select_from(memories.outerjoin(accesses, accesses.c.row_id == memories.c.row_id))
        .where(memories.c.agent_id == agent_id, memories.c.memory_id.in_(_uuids(ids)))
        .order_by(memories.c.row_id)
    )
    if not wants_superseded(request):
        statement = statement.where(still_holds(now))
    where = condition(request)
    if where is not None:
        statement = statement.where(where_clause(where, COLUMNS, connection.dialect.name))
    return {row[0]: row[1] for row in connection.execute(statement)}


def _uuids(ids: Sequence[str]) -> list[str]:
    """Link targets may also be content ids; only minted ids can name a memory."""
    return [one for one in ids if len(one) == 36 and one.count("-") == 4]
