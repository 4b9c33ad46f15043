"""Rows of compression metrics and of the cache of compressions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from waypost.model import CompressionMetric
from waypost.store.tables import compression_cache, compression_metrics


def add_metric(connection: Connection, metric: CompressionMetric) -> None:
    row = metric.model_dump(mode="json")
    connection.execute(
        insert(compression_metrics).values(**{**row, "recorded_at": metric.recorded_at})
    )


def metrics(
    connection: Connection, agent_id: str, task_id: str | None = None
) -> list[CompressionMetric]:
    """The compressions of a task, or of the agent, oldest first."""
    table = compression_metrics
    statement = select(table).where(table.c.agent_id == agent_id)
    if task_id is not None:
        statement = statement.where(table.c.task_id == task_id)
    rows = connection.execute(statement.order_by(table.c.recorded_at, table.c.metric_id)).mappings()
    return [CompressionMetric.model_validate(dict(row)) for row in rows]


def spent(connection: Connection, agent_id: str, task_id: str | None = None) -> dict[str, float]:
    """What compressions cost, and what the same tokens cost on the reasoning model, in USD."""
    table = compression_metrics
    statement = select(
        func.coalesce(func.sum(table.c.cost_usd), 0.0),
        func.coalesce(func.sum(table.c.reasoning_cost_usd), 0.0),
        func.count(),
    ).where(table.c.agent_id == agent_id)
    if task_id is not None:
        statement = statement.where(table.c.task_id == task_id)
    cost, reasoning, count = connection.execute(statement).one()
    return {
        "cost_usd": float(cost),
        "reasoning_cost_usd": float(reasoning),
        "compressions": float(count),
    }


def cached(
    connection: Connection, agent_id: str, digest: str, since: datetime
) -> dict[str, Any] | None:
    """The result of an equal compression, unless it is older than ``since``."""
    table = compression_cache
    statement = select(table.c.result).where(
        table.c.agent_id == agent_id, table.c.digest == digest, table.c.created_at >= since
    )
    found: dict[str, Any] | None = connection.execute(statement).scalar()
    return found


def remember(
    connection: Connection, agent_id: str, digest: str, result: dict[str, Any], now: datetime
) -> None:
    """Keep a result under its digest, in place of an older one."""
    table = compression_cache
    connection.execute(delete(table).where(table.c.agent_id == agent_id, table.c.digest == digest))
    connection.execute(
        insert(table).values(agent_id=agent_id, digest=digest, result=result, created_at=now)
    )


def forget_before(connection: Connection, agent_id: str, moment: datetime) -> None:
    table = compression_cache
    connection.execute(
        delete(table).where(table.c.agent_id == agent_id, table.c.created_at < moment)
    )
