"""Keeping knowledge once and current: duplicates are recognised, newer facts close older ones.

Runs inside the transaction of a write, against what is stored and against what stands earlier
in the same batch. Nothing is deleted: a closed statement keeps its text and says what took
its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, bindparam, or_, select

from waypost.model import LinkKind, MemoryLink, MemoryRecord, MemoryType, Trust
from waypost.store import memories as repository
from waypost.store.rows import PreparedMemory
from waypost.store.tables import memories

_IN_PLACE = and_(
    memories.c.tier == bindparam("tier"),
    memories.c.task_id.is_not_distinct_from(bindparam("task_id")),
    memories.c.project_id.is_not_distinct_from(bindparam("project_id")),
)
_SAME_TEXT = (
    repository.rows_of(bindparam("agent_id"))
    .where(
        memories.c.digest == bindparam("digest"),
        memories.c.superseded_by.is_(None),
        memories.c.valid_to.is_(None),
        _IN_PLACE,
    )
    .limit(1)
)
_HOLDING = (
    select(memories.c.memory_id, memories.c.valid_from, memories.c.trust)
    .where(
        memories.c.agent_id == bindparam("agent_id"),
        memories.c.fact_key == bindparam("fact_key"),
        memories.c.superseded_by.is_(None),
        or_(memories.c.valid_to.is_(None), memories.c.valid_to > bindparam("valid_from")),
        _IN_PLACE,
    )
    .order_by(memories.c.valid_from.desc())
)


class Fresh:
    """The memories of a batch that will be inserted, findable by what they say and where."""

    def __init__(self) -> None:
        self.items: list[PreparedMemory] = []
        self._by_digest: dict[tuple[Any, ...], MemoryRecord] = {}
        self._by_fact: dict[tuple[Any, ...], int] = {}

    def append(self, prepared: PreparedMemory) -> None:
        place = _place_of(prepared.record)
        self._by_digest.setdefault((prepared.digest, place), prepared.record)
        if prepared.fact_key is not None and prepared.record.superseded_by is None:
            self._by_fact[prepared.fact_key, place] = len(self.items)
        self.items.append(prepared)

    def records(self) -> dict[str, MemoryRecord]:
        """The records as they are now, by id: a later one may have closed an earlier."""
        return {item.record.memory_id: item.record for item in self.items}

    def same_text(self, prepared: PreparedMemory) -> MemoryRecord | None:
        return self._by_digest.get((prepared.digest, _place_of(prepared.record)))

    def close_older(self, newer: PreparedMemory) -> list[str]:
        """Close the statement about the same thing that is not younger; its id, if any."""
        position = self._by_fact.get((newer.fact_key, _place_of(newer.record)))
        if position is None:
            return []
        older = self.items[position].record
        if older.valid_from > newer.record.valid_from:
            return []
        if not _may_close(newer.record.trust, older.trust):
            return []
        closed = older.model_copy(update=_closing(newer.record))
        self.items[position] = replace(self.items[position], record=closed)
        return [older.memory_id]


def duplicate(
    connection: Connection, agent_id: str, prepared: PreparedMemory, fresh: Fresh
) -> MemoryRecord | None:
    """The active memory in the same place that says the same, for knowledge only."""
    if not _knowledge(prepared.record):
        return None
    if earlier := fresh.same_text(prepared):
        return earlier
    values = {"agent_id": agent_id, "digest": prepared.digest, **_place_values(prepared.record)}
    rows = connection.execute(_SAME_TEXT, values).mappings().all()
    return repository.with_links(connection, agent_id, rows)[0] if rows else None


def _place_of(record: MemoryRecord) -> tuple[Any, ...]:
    return (record.tier, record.task_id, record.project_id)


def _place_values(record: MemoryRecord) -> dict[str, Any]:
    return {
        "tier": record.tier.value,
        "task_id": record.task_id,
        "project_id": record.project_id,
    }


def reconcile(
    connection: Connection,
    agent_id: str,
    prepared: PreparedMemory,
    fresh: Fresh,
    now: datetime,
) -> tuple[PreparedMemory, tuple[str, ...]]:
    """Close the older of two statements about the same thing; delete neither.

    What nobody vouches for closes nothing that someone does: both stay, as a conflict.
    """
    if prepared.fact_key is None or prepared.record.valid_to is not None:
        return prepared, ()
    closed = fresh.close_older(prepared)
    for row in _holding(connection, agent_id, prepared):
        if row["valid_from"] > prepared.record.valid_from:
            if not _may_close(Trust(row["trust"]), prepared.record.trust):
                continue
            late = {"valid_to": row["valid_from"], "superseded_by": row["memory_id"]}
            return replace(prepared, record=prepared.record.model_copy(update=late)), ()
        if not _may_close(prepared.record.trust, Trust(row["trust"])):
            continue
        repository.change(
            connection, agent_id, row["memory_id"], _closing(prepared.record),
            now=now, operation="supersede",
        )  # fmt: skip
        closed.append(row["memory_id"])
    return _with_supersedes(prepared, closed), tuple(closed)


def _may_close(newer: Trust, older: Trust) -> bool:
    return newer is not Trust.UNTRUSTED or older is Trust.UNTRUSTED


def _closing(newer: MemoryRecord) -> dict[str, Any]:
    return {"valid_to": newer.valid_from, "superseded_by": newer.memory_id}


def _holding(connection: Connection, agent_id: str, prepared: PreparedMemory) -> Sequence[Any]:
    values = {
        "agent_id": agent_id,
        "fact_key": prepared.fact_key,
        "valid_from": prepared.record.valid_from,
        **_place_values(prepared.record),
    }
    return connection.execute(_HOLDING, values).mappings().all()


def _with_supersedes(prepared: PreparedMemory, closed: Sequence[str]) -> PreparedMemory:
    if not closed:
        return prepared
    added = tuple(MemoryLink(kind=LinkKind.SUPERSEDES, target_id=target) for target in closed)
    record = prepared.record.model_copy(update={"links": prepared.record.links + added})
    return replace(prepared, record=record)


def _knowledge(record: MemoryRecord) -> bool:
    """Knowledge is worth keeping once; an event that happens twice is two events."""
    return record.type in (MemoryType.SEMANTIC, MemoryType.PROCEDURAL)
