"""What SQLite's planner is told about our tables.

Nearly every query names the agent, and without statistics the planner takes that for a
telling condition: it would walk an agent's whole index to find twenty rows whose numbers
are given. So each file holds an estimate for every index that begins with the agent:
one agent has many rows, one value of the next column few. The estimates are fixed,
because a file may grow from nothing to a million rows before anyone could count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Index

from waypost.store.tables import metadata

ROWS, PER_AGENT, PER_VALUE = 1_000_000, 10_000, 10
_COARSE = frozenset({"embedder"})
"""Columns that hardly divide the rows of an agent."""


def advise(raw: Any) -> None:
    """Write the estimates into a file that lacks them; ``raw`` is the driver's connection."""
    wanted = set(_estimates())
    if wanted <= _known(raw):
        return
    raw.execute("BEGIN IMMEDIATE")
    try:
        raw.execute("ANALYZE sqlite_schema")
        raw.execute("DELETE FROM sqlite_stat1")
        raw.executemany("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", sorted(wanted))
        raw.execute("COMMIT")
    except BaseException:
        raw.execute("ROLLBACK")
        raise
    raw.execute("ANALYZE sqlite_schema")


def _known(raw: Any) -> set[tuple[str, str, str]]:
    table = "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'"
    if raw.execute(table).fetchone() is None:
        return set()
    return set(raw.execute("SELECT tbl, idx, stat FROM sqlite_stat1").fetchall())


def _estimates() -> Iterator[tuple[str, str, str]]:
    for table in metadata.sorted_tables:
        for index in table.indexes:
            names = [column.name for column in index.columns]
            if index.name and names[0] == "agent_id":
                yield table.name, str(index.name), _estimate(index)


def _estimate(index: Index) -> str:
    numbers, found = [ROWS], PER_AGENT
    for column in index.columns:
        found = found if column.name in _COARSE or column.name == "agent_id" else PER_VALUE
        numbers.append(found)
    return " ".join(map(str, numbers))
