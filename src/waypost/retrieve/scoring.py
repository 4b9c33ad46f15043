"""Ranking candidates by the five factors, from the columns that the factors need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, select

from waypost.index.rows import Candidates
from waypost.model import Factors, RecallRequest, RouteHit, Weights, Why
from waypost.model.profile import DEFAULT_HALF_LIFE_HOURS
from waypost.retrieve import factors
from waypost.retrieve.holding import wants_superseded
from waypost.store.memories import chunks
from waypost.store.numbered import rows_by_number
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
    memories.c.valid_to,
)
_TIED = select(error_records.c.memory_id).where(
    error_records.c.agent_id == bindparam("agent_id"),
    error_records.c.recorded_at > bindparam("since"),
    error_records.c.memory_id.in_(bindparam("memory_ids", expanding=True)),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """When a question was asked, and whether the agent has errors that could matter."""

    now: datetime
    has_errors: bool


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its score and what it was made of."""

    row_id: int
    memory_id: str
    fact_key: str | None
    timestamp: float
    score: float
    factors: tuple[float, float, float, float, float]
    candidates: Candidates
    position: int

    def why(self, note: str | None = None) -> Why:
        """The reasons in words that can be shown."""
        relevance, recency, frequency, stage, criticality = self.factors
        return Why.model_construct(
            factors=Factors.model_construct(
                relevance=relevance,
                recency=recency,
                frequency=frequency,
                stage=stage,
                criticality=criticality,
            ),
            routes=tuple(
                RouteHit.model_construct(route=route, rank=rank, score=score)
                for route, rank, score in self.candidates.found_by(self.position)
            ),
            note=note,
        )


def rank(
    connection: Connection,
    agent_id: str,
    candidates: Candidates,
    request: RecallRequest,
    asked: Asked,
) -> list[Scored]:
    """Score the candidates; best first, then the newer, then by id."""
    row_ids = candidates.row_ids.tolist()
    expires = not wants_superseded(request)
    rows = {
        row[0]: row
        for part in chunks(row_ids)
        for row in rows_by_number(connection, _COLUMNS, agent_id, part)
        if not (expires and _has_run_out(row, asked.now))
    }
    moment = _moment(connection, agent_id, request, list(rows.values()), asked)
    weights = request.weights or Weights()
    scored = [
        _scored(rows[row_id], candidates, position, moment, weights)
        for position, row_id in enumerate(row_ids)
        if row_id in rows
    ]
    scored.sort(key=lambda item: (-item.score, -item.timestamp, item.memory_id))
    return scored


def _has_run_out(row: tuple[Any, ...], now: datetime) -> bool:
    valid_to = row[-1]
    return valid_to is not None and valid_to <= now


def _scored(
    row: Any,
    candidates: Candidates,
    position: int,
    moment: factors.Moment,
    weights: Weights,
) -> Scored:
    row_id, memory_id, timestamp, stage_id, stage_map, is_critical, fact_key, accessed, _ = row
    values = (
        float(candidates.relevance[position]),
        factors.recency(timestamp, moment),
        factors.frequency(accessed or 0),
        factors.stage(stage_id, stage_map, moment),
        factors.criticality(memory_id, is_critical, moment),
    )
    return Scored(
        row_id=row_id,
        memory_id=memory_id,
        fact_key=fact_key,
        timestamp=timestamp.timestamp(),
        score=factors.score(values, weights),
        factors=values,
        candidates=candidates,
        position=position,
    )


def _moment(
    connection: Connection,
    agent_id: str,
    request: RecallRequest,
    rows: Sequence[Any],
    asked: Asked,
) -> factors.Moment:
    stage_id, stage_type = _current_stage(connection, agent_id, request)
    return factors.Moment(
        now=asked.now,
        half_life_hours=request.half_life_hours or DEFAULT_HALF_LIFE_HOURS,
        stage_id=stage_id,
        stage_type=stage_type,
        error_memory_ids=_tied_to_errors(connection, agent_id, rows, asked),
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
    connection: Connection, agent_id: str, rows: Sequence[Any], asked: Asked
) -> frozenset[str]:
    if not asked.has_errors:
        return frozenset()
    values = {
        "agent_id": agent_id,
        "since": asked.now - RECENT_ERRORS,
        "memory_ids": [row[1] for row in rows],
    }
    return frozenset(connection.execute(_TIED, values).scalars())
