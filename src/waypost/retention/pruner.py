"""Choosing what leaves: by capacity after a write, or when asked.

A pass archives the least missed fifth of the memories in question. Critical
memories stay. With a capacity, passes repeat until it holds or only critical
memories are left; without one, a call is one pass.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from waypost.exceptions import StorageError
from waypost.filters import Condition, parse_where
from waypost.filters.memory_fields import MEMORY_FIELDS
from waypost.filters.sql import where_clause
from waypost.model.retention import Capacity, PruneReport, RetentionPolicy, Strategy
from waypost.retention.archive import Archive, Progress, no_progress
from waypost.retention.strategies import Standing, least_missed_first
from waypost.store.database import Database
from waypost.store.memories import COLUMNS
from waypost.store.tables import accesses, memories

logger = logging.getLogger(__name__)


class Pruner:
    """Prunes one agent's memories."""

    def __init__(
        self, database: Database, archive: Archive, agent_id: str, *, policy: RetentionPolicy
    ) -> None:
        self._database = database
        self._archive = archive
        self._agent_id = agent_id
        self.policy = policy

    async def prune(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        strategy: Strategy = Strategy.LEAST_RELEVANT,
        capacity: Capacity | None = None,
        share: float | None = None,
        dry_run: bool = False,
        reason: str = "prune",
        progress: Progress = no_progress,
    ) -> PruneReport:
        """Archive the least missed of the memories that match, or say which they would be."""
        standings = await self._standings(where or {})
        doomed, passes = _doomed(standings, strategy, capacity, share or self.policy.share)
        ids = tuple(one.memory_id for one in doomed)
        left = (
            list(ids)
            if dry_run
            else await self._archive.take(ids, reason=reason, progress=progress)
        )
        kept = set(left)
        return PruneReport(
            memory_ids=tuple(left),
            considered=len(standings),
            tokens=sum(one.token_count for one in doomed if one.memory_id in kept),
            passes=passes,
            skipped=len(ids) - len(left),
            strategy=strategy,
            archive=self._archive.location,
            dry_run=dry_run,
        )

    async def enforce(self) -> list[PruneReport]:
        """Bring every configured capacity back under its limit."""
        reports = []
        for capacity in self.policy.capacities:
            if await self._exceeded(capacity):
                report = await self.prune(
                    scope_of(capacity),
                    strategy=capacity.strategy,
                    capacity=capacity,
                    reason="capacity",
                )
                reports.append(report)
        return reports

    async def after_write(self) -> None:
        """Enforce capacities; a failing archive is logged and never fails the write before it."""
        if not self.policy.capacities:
            return
        try:
            await self.enforce()
        except StorageError as error:
            logger.warning("capacity is exceeded but nothing could be archived: %s", error)

    async def _exceeded(self, capacity: Capacity) -> bool:
        items, tokens = await self._database.read(
            measure,
            self._agent_id,
            parse_where(scope_of(capacity), MEMORY_FIELDS),
            agent=self._agent_id,
        )
        return exceeds(capacity, items, tokens)

    async def _standings(self, where: Mapping[str, Any]) -> list[Standing]:
        condition = parse_where(where, MEMORY_FIELDS)
        return await self._database.read(
            standings_of, self._agent_id, condition, agent=self._agent_id
        )


def scope_of(capacity: Capacity) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    if capacity.type is not None:
        scope["type"] = capacity.type.value
    if capacity.tier is not None:
        scope["tier"] = capacity.tier.value
    return scope


def exceeds(capacity: Capacity, items: int, tokens: int) -> bool:
    too_many = capacity.max_items is not None and items > capacity.max_items
    return too_many or (capacity.max_tokens is not None and tokens > capacity.max_tokens)


def _doomed(
    standings: Sequence[Standing], strategy: Strategy, capacity: Capacity | None, share: float
) -> tuple[list[Standing], int]:
    """Who leaves, and in how many passes. Critical memories count but never leave."""
    waiting = least_missed_first([one for one in standings if not one.critical], strategy)
    items, tokens = len(standings), sum(one.token_count for one in standings)
    doomed: list[Standing] = []
    passes = 0
    while waiting and (exceeds(capacity, items, tokens) if capacity else passes == 0):
        size = math.ceil(items * share)
        taken, waiting = waiting[:size], waiting[size:]
        doomed += taken
        items -= len(taken)
        tokens -= sum(one.token_count for one in taken)
        passes += 1
    return doomed, passes


def standings_of(connection: Connection, agent_id: str, where: Condition) -> list[Standing]:
    statement = (
        select(
            memories.c.memory_id,
            memories.c.timestamp,
            memories.c.importance,
            memories.c.relevance_score,
            func.coalesce(accesses.c.access_count, 0),
            accesses.c.last_accessed,
            memories.c.superseded_by.is_not(None),
            memories.c.token_count,
            memories.c.is_critical,
        )
        .select_from(memories.outerjoin(accesses, accesses.c.row_id == memories.c.row_id))
        .where(
            memories.c.agent_id == agent_id, where_clause(where, COLUMNS, connection.dialect.name)
        )
    )
    return [Standing(*row) for row in connection.execute(statement)]


def measure(connection: Connection, agent_id: str, where: Condition) -> tuple[int, int]:
    """How many memories match and how many tokens they have."""
    statement = (
        select(func.count(), func.coalesce(func.sum(memories.c.token_count), 0))
        .select_from(memories.outerjoin(accesses, accesses.c.row_id == memories.c.row_id))
        .where(
            memories.c.agent_id == agent_id, where_clause(where, COLUMNS, connection.dialect.name)
        )
    )
    items, tokens = connection.execute(statement).one()
    return int(items), int(tokens)
