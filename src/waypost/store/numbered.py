"""Reading memories by their row numbers without asking SQLAlchemy about every value.

A retrieval reads some dozen rows this way, twice. On SQLite the select list and the
converters of its columns are worked out once; each row is then a tuple of the driver
with a few values converted. Other databases get the statement that this spells out:
there the server is the slow part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Dialect, select

from waypost.store.tables import accesses, memories

Columns = tuple[ColumnElement[Any], ...]
Converters = tuple[tuple[int, Callable[[Any], Any]], ...]

_JOINED = memories.outerjoin(accesses, accesses.c.row_id == memories.c.row_id)


def rows_by_number(
    connection: Connection, columns: Columns, agent_id: str, row_ids: Sequence[int]
) -> list[tuple[Any, ...]]:
    """These columns of the rows that the agent has, in no particular order.

    The columns are those of ``memories`` and ``accesses``; the caller keeps the number of
    rows below what one statement takes.
    """
    if connection.dialect.name != "sqlite":
        statement = select(*columns).select_from(_JOINED)
        owned = memories.c.agent_id == agent_id, memories.c.row_id.in_(row_ids)
        return [tuple(row) for row in connection.execute(statement.where(*owned))]
    text, converters = _plan(columns, connection.dialect)
    raw: Any = connection.connection.driver_connection
    marks = ", ".join("?" * len(row_ids))
    found = raw.execute(f"{text} ({marks})", (agent_id, *row_ids)).fetchall()
    return [_converted(row, converters) for row in found]


def _converted(row: tuple[Any, ...], converters: Converters) -> tuple[Any, ...]:
    values = list(row)
    for place, convert in converters:
        values[place] = convert(values[place])
    return tuple(values)


@lru_cache(maxsize=16)
def _plan(columns: Columns, dialect: Dialect) -> tuple[str, Converters]:
    names = ", ".join(str(column.compile(dialect=dialect)) for column in columns)
    source = _JOINED.compile(dialect=dialect)
    converters = [
        (place, convert)
        for place, column in enumerate(columns)
        if (convert := column.type.dialect_impl(dialect).result_processor(dialect, None))
    ]
    where = "memories.agent_id = ? AND memories.row_id IN"
    return f"SELECT {names} FROM {source} WHERE {where}", tuple(converters)
