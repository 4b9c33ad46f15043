"""Rows of errors and of interventions. Every function names the agent it acts for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, Select, insert, or_, select, update

from waypost.exceptions import NotFound
from waypost.model import ErrorRecord, Intervention
from waypost.store.tables import error_records, interventions, stages, tasks

_MOST = 1000


def add(connection: Connection, error: ErrorRecord) -> None:
    row = error.model_dump(mode="json")
    connection.execute(insert(error_records).values(**{**row, "recorded_at": error.recorded_at}))


def get(connection: Connection, agent_id: str, error_id: str) -> ErrorRecord:
    statement = _of(agent_id).where(error_records.c.error_id == error_id)
    found = _records(connection, statement)
    if not found:
        raise NotFound(f"no error {error_id} for agent {agent_id!r}", error_id=error_id)
    return found[0]


def change(
    connection: Connection, agent_id: str, error_id: str, values: Mapping[str, Any]
) -> ErrorRecord:
    """Set what became known later: the recovery, and whether it resolved the error."""
    connection.execute(
        update(error_records)
        .where(error_records.c.agent_id == agent_id, error_records.c.error_id == error_id)
        .values(**values)
    )
    return get(connection, agent_id, error_id)


def of_task(
    connection: Connection, agent_id: str, task_id: str, lookback_stages: int | None = None
) -> list[ErrorRecord]:
    """The errors of a task, oldest first; of its last stages only, when that is asked."""
    statement = _of(agent_id).where(error_records.c.task_id == task_id)
    if lookback_stages is not None:
        since = _start_of_stage(connection, agent_id, task_id, lookback_stages)
        if since is not None:
            statement = statement.where(error_records.c.recorded_at >= since)
    return _records(connection, statement)


def in_scope(connection: Connection, agent_id: str, task_id: str | None) -> list[ErrorRecord]:
    """The errors a task may learn from: its own, its project's, and those outside any task."""
    if task_id is None:
        return _records(connection, _of(agent_id).where(error_records.c.task_id.is_(None)))
    project = select(tasks.c.project_id).where(
        tasks.c.agent_id == agent_id, tasks.c.task_id == task_id, tasks.c.project_id.is_not(None)
    )
    siblings = select(tasks.c.task_id).where(
        tasks.c.agent_id == agent_id, tasks.c.project_id.in_(project)
    )
    own = or_(
        error_records.c.task_id == task_id,
        error_records.c.task_id.is_(None),
        error_records.c.task_id.in_(siblings),
    )
    return _records(connection, _of(agent_id).where(own))


def with_signatures(
    connection: Connection, agent_id: str, signatures: Collection[str]
) -> list[ErrorRecord]:
    """Every error of the agent with one of these signatures, oldest first."""
    return _records(connection, _of(agent_id).where(error_records.c.signature.in_(signatures)))


def recent(connection: Connection, agent_id: str, limit: int = _MOST) -> list[ErrorRecord]:
    """The agent's latest errors, oldest of them first."""
    return _records(connection, _of(agent_id), limit)


def add_intervention(connection: Connection, intervention: Intervention) -> None:
    row = intervention.model_dump(mode="json")
    connection.execute(
        insert(interventions).values(**{**row, "recorded_at": intervention.recorded_at})
    )


def interventions_of(
    connection: Connection, agent_id: str, task_id: str | None = None
) -> list[Intervention]:
    """Interventions on a task, or on any task of the agent, oldest first."""
    statement = select(interventions).where(interventions.c.agent_id == agent_id)
    if task_id is not None:
        statement = statement.where(interventions.c.task_id == task_id)
    statement = statement.order_by(interventions.c.recorded_at, interventions.c.intervention_id)
    rows = connection.execute(statement).mappings()
    return [Intervention.model_validate(dict(row)) for row in rows]


def _of(agent_id: str) -> Select[Any]:
    return select(error_records).where(error_records.c.agent_id == agent_id)


def _records(
    connection: Connection, statement: Select[Any], limit: int = _MOST
) -> list[ErrorRecord]:
    """The newest ``limit`` rows, oldest first."""
    newest = statement.order_by(
        error_records.c.recorded_at.desc(), error_records.c.error_id.desc()
    ).limit(limit)
    rows = connection.execute(newest).mappings().all()
    return [ErrorRecord.model_validate(dict(row)) for row in reversed(rows)]


def _start_of_stage(
    connection: Connection, agent_id: str, task_id: str, lookback_stages: int
) -> Any | None:
    statement = (
        select(stages.c.created_at)
        .where(stages.c.agent_id == agent_id, stages.c.task_id == task_id)
        .order_by(stages.c.created_at.desc(), stages.c.stage_id.desc())
        .limit(lookback_stages)
    )
    starts = connection.execute(statement).scalars().all()
    return starts[-1] if len(starts) == lookback_stages else None
