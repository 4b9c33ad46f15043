"""What holds at the time of a question, and which statements contradict each other.

A statement that something newer took the place of is left out unless the question asks
for it; so is one whose ``valid_to`` has passed. Two statements about the same thing that
both hold are a conflict when one's place lies within the other's: what one project says
does not contradict what another says.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, or_, select

from waypost.model import RecallRequest
from waypost.store.memories import chunks
from waypost.store.tables import memories


def wants_superseded(request: RecallRequest) -> bool:
    return request.include_superseded or request.as_of is not None


def still_holds(now: datetime) -> ColumnElement[bool]:
    """The rows that nothing newer has taken the place of and that have not run out."""
    valid = or_(memories.c.valid_to.is_(None), memories.c.valid_to > now)
    return and_(memories.c.superseded_by.is_(None), valid)


def held_at(moment: datetime) -> ColumnElement[bool]:
    """The rows that held at a moment, whatever has taken their place since."""
    valid = or_(memories.c.valid_to.is_(None), memories.c.valid_to > moment)
    return and_(memories.c.valid_from <= moment, valid)


def conflicts(
    connection: Connection, agent_id: str, fact_keys: Sequence[str], holding: ColumnElement[bool]
) -> dict[str, tuple[str, ...]]:
    """Ids of the memories that contradict a memory, by its id, among those that hold."""
    found: dict[str, tuple[str, ...]] = {}
    for keys in chunks(sorted(set(fact_keys))):
        for _, about_the_same in groupby(_statements(connection, agent_id, keys, holding), _key):
            found.update(_contradictions(list(about_the_same)))
    return found


def _statements(
    connection: Connection, agent_id: str, keys: Sequence[str], holding: ColumnElement[bool]
) -> Sequence[Row[Any]]:
    statement = (
        select(
            memories.c.fact_key,
            memories.c.memory_id,
            memories.c.facts,
            memories.c.task_id,
            memories.c.project_id,
        )
        .where(memories.c.agent_id == agent_id, memories.c.fact_key.in_(keys), holding)
        .order_by(memories.c.fact_key, memories.c.row_id)
    )
    rows: Sequence[Any] = connection.execute(statement).all()
    return rows


def _key(statement: Row[Any]) -> str:
    return str(statement.fact_key)


def _contradictions(statements: Sequence[Row[Any]]) -> dict[str, tuple[str, ...]]:
    contradicting = {
        one.memory_id: tuple(other.memory_id for other in statements if _contradict(one, other))
        for one in statements
    }
    return {memory_id: others for memory_id, others in contradicting.items() if others}


def _contradict(one: Row[Any], other: Row[Any]) -> bool:
    return _value(one) != _value(other) and (_within(one, other) or _within(other, one))


def _value(statement: Row[Any]) -> str:
    fact = statement.facts[0]
    return " ".join(str(fact.get("value") or fact["text"]).casefold().split()).rstrip(".")


def _within(inner: Row[Any], outer: Row[Any]) -> bool:
    return (outer.project_id is None or outer.project_id == inner.project_id) and (
        outer.task_id is None or outer.task_id == inner.task_id
    )
