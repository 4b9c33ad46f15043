"""Ranking candidates by the five factors, from the columns that the factors need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, RowMapping, select

from waypost.index.rows import Candidates
from waypost.model import Factors, RecallRequest, RouteHit, Weights, Why
from waypost.retrieve import factors
from waypost.store.tables import accesses, error_records, memories, stages, tasks

RECENT_ERRORS = timedelta(days=7)

_COLUMNS = (
    memories.c.row_id,
    memories.c.memory_id,
    memories.c.timestamp,
    memories.c.stage_id,
    memories.c.stage_relevance_map,
    memories.c.is_critical,
    memories.c.fact_key,
    accesses.c.access_count,
)


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its score and the reasons for it."""

    row_id: int
    memory_id: str
    fact_key: str | None
    score: float
    why: Why


def rank(
    connection: Connection,
    agent_id: str,
    candidates: Candidates,
    request: RecallRequest,
    now: datetime,
) -> list[Scored]:
    """Score the candidates; best first, ties by age and then by id."""
    rows = _columns(connection, agent_id, candidates.row_ids.tolist())
    moment = _moment(connection, agent_id, request, list(rows.values()), now)
    weights = request.weights or Weights()
    scored = [
        (_scored(rows[row_id], candidates, position, moment, weights), rows[row_id]["timestamp"])
        for position, row_id in enumerate(candidates.row_ids.tolist())
        if row_id in rows
    ]
    scored.sort(key=lambda pair: (-pair[0].score, -pair[1].timestamp(), pair[0].memory_id))
    return [item for item, _ in scored]


def _columns(
    connection: Connection, agent_id: str, row_ids: Sequence[int]
) -> dict[int, RowMapping]:
    statement = (
        select(*_COLUMNS)
        .select_from(memories.outerjoin(accesses, accesses.c.row_id == memories.c.row_id))
        .where(memories.c.agent_id == agent_id, memories.c.row_id.in_(row_ids))
    )
    return {row["row_id"]: row for row in connection.execute(statement).mappings()}


def _scored(
    row: RowMapping,
    candidates: Candidates,
    position: int,
    moment: factors.Moment,
    weights: Weights,
) -> Scored:
    values = Factors.model_construct(
        relevance=float(candidates.relevance[position]),
        recency=factors.recency(row["timestamp"], moment),
        frequency=factors.frequency(row["access_count"] or 0),
        stage=factors.stage(row["stage_id"], row["stage_relevance_map"], moment),
        criticality=factors.criticality(row["memory_id"], row["is_critical"], moment),
    )
    routes = tuple(
        RouteHit.model_construct(route=route, rank=rank, score=score)
        for route, rank, score in candidates.found_by(position)
    )
    return Scored(
        row_id=row["row_id"],
        memory_id=row["memory_id"],
        fact_key=row["fact_key"],
        score=factors.score(values, weights),
        why=Why.model_construct(factors=values, routes=routes, note=None),
    )


def _moment(
    connection: Connection,
    agent_id: str,
    request: RecallRequest,
    rows: Sequence[RowMapping],
    now: datetime,
) -> factors.Moment:
    stage_id, stage_type = _current_stage(connection, agent_id, request)
    return factors.Moment(
        now=now,
        half_life_hours=request.half_life_hours or factors.DEFAULT_HALF_LIFE_HOURS,
        stage_id=stage_id,
        stage_type=stage_type,
        error_memory_ids=_tied_to_errors(connection, agent_id, rows, now),
    )


def _current_stage(
    connection: Connection, agent_id: str, request: RecallRequest
) -> tuple[str | None, str | None]:
    given = request.current_stage.value if request.current_stage else None
    if request.task_id is None and request.stage_id is None:
        return None, given
    statement = select(stages.c.stage_id, stages.c.stage_type).where(stages.c.agent_id == agent_id)
    if request.stage_id is not None:
        statement = statement.where(stages.c.stage_id == request.stage_id)
    else:
        current = select(tasks.c.current_stage_id).where(
            tasks.c.agent_id == agent_id, tasks.c.task_id == request.task_id
        )
        statement = statement.where(stages.c.stage_id.in_(current))
    row = connection.execute(statement).first()
    return (None, given) if row is None else (row[0], given or row[1])


def _tied_to_errors(
    connection: Connection, agent_id: str, rows: Sequence[RowMapping], now: datetime
) -> frozenset[str]:
    statement = select(error_records.c.memory_id).where(
        error_records.c.agent_id == agent_id,
        error_records.c.recorded_at > now - RECENT_ERRORS,
        error_records.c.memory_id.in_([row["memory_id"] for row in rows]),
    )
    found: Any = connection.execute(statement).scalars()
    return frozenset(found)
