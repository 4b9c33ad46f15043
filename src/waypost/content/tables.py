"""Tables in text: CSV, TSV, semicolons, markdown and terminal tables, JSON lists of objects."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from typing import Any

from waypost.content.json_text import load_json

_RULE = re.compile(r"[\s|+:=-]{3,}")
_MOST_ROWS = 200_000


@dataclass(frozen=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_table(text: str) -> Table | None:
    """Read a table from a whole text; None when it does not look like one."""
    start = text.lstrip()[:1]
    if start and start in "[{":
        return table_of(load_json(text))
    return _piped(text) or _separated(text)


def table_of(value: Any) -> Table | None:
    """A list of objects with mostly the same keys, or an object with columns and rows."""
    if isinstance(value, dict):
        return _table_of_object(value)
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(v, dict) for v in value):
        return None
    columns: dict[str, None] = {}
    for entry in value[:1000]:
        columns.update(dict.fromkeys(map(str, entry)))
    if not columns or len(columns) > 200 or not _uniform(value, len(columns)):
        return None
    names = tuple(columns)
    rows = tuple(tuple(_cell(entry.get(name)) for name in names) for entry in value[:_MOST_ROWS])
    return Table(names, rows)


def _uniform(entries: list[Any], width: int) -> bool:
    """Most objects have most of the keys; otherwise it is a list of different things."""
    return sum(map(len, entries[:1000])) >= 0.6 * width * len(entries[:1000])


def _table_of_object(value: dict[str, Any]) -> Table | None:
    columns, rows = value.get("columns"), value.get("rows")
    if isinstance(columns, list) and isinstance(rows, list) and columns:
        names = tuple(
            str(c.get("name", c)) if isinstance(c, dict) else str(c) for c in columns[:200]
        )
        listed = [row for row in rows[:_MOST_ROWS] if isinstance(row, list)]
        return Table(names, tuple(tuple(map(_cell, row)) for row in listed))
    lists = [inner for inner in value.values() if isinstance(inner, list)]
    return table_of(lists[0]) if len(lists) == 1 and len(value) <= 6 else None


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "…"


def _piped(text: str) -> Table | None:
    """Markdown and terminal tables: cells between bars, with ruled lines left out."""
    lines = [line.strip() for line in text.splitlines()[:_MOST_ROWS]]
    piped = [line for line in lines if line.count("|") >= 1 and not _RULE.fullmatch(line)]
    ruled = any("-" in line and _RULE.fullmatch(line) for line in lines[:10])
    if not ruled or len(piped) < 2 or len(piped) * 10 < 7 * sum(map(bool, lines)):
        return None
    cells = [tuple(part.strip() for part in line.strip("|").split("|")) for line in piped]
    return Table(cells[0], tuple(row for row in cells[1:] if len(row) == len(cells[0])))


def _separated(text: str) -> Table | None:
    """Delimited values: the delimiter that splits the first lines evenly."""
    sample = [line for line in text[:20_000].splitlines() if line.strip()][:12]
    if len(sample) > 2 and len(text) > 20_000:
        sample = sample[:-1]
    if len(sample) < 3:
        return None
    for delimiter in ("\t", ",", ";", "|"):
        if _even(sample, delimiter):
            return _read_separated(text, delimiter)
    return None


def _even(sample: list[str], delimiter: str) -> bool:
    try:
        widths = [len(row) for row in csv.reader(sample, delimiter=delimiter)]
    except csv.Error:
        return False
    return len(set(widths)) == 1 and widths[0] >= 2 and not _prose(sample, widths[0])


def _prose(sample: list[str], width: int) -> bool:
    """Sentences with the same number of commas are not a table."""
    return any(len(line) > 60 * width for line in sample)


def _read_separated(text: str, delimiter: str) -> Table | None:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[tuple[str, ...]] = []
    try:
        for row in reader:
            if row:
                rows.append(tuple(row))
            if len(rows) >= _MOST_ROWS:
                break
    except csv.Error:
        # A field over csv's limit or a stray NUL; what was read before it still stands.
        pass
    return Table(rows[0], tuple(rows[1:])) if len(rows) > 1 else None
