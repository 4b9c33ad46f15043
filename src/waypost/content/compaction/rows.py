"""Tables: columns, number of rows, ranges of number columns, the first and the last rows."""

from __future__ import annotations

import math

from waypost.content.compaction.base import Compacted, clip, media_is
from waypost.content.material import Material
from waypost.content.tables import Table, read_table

_SHOWN_ROWS = 4


class RowsCompactor:
    name = "rows"

    def confidence(self, material: Material) -> float:
        if media_is(material, "text/csv", "text/tab-separated-values"):
            return 0.9
        table = read_table(material.head)
        if table is None or len(table.rows) < 2 or len(table.columns) < 2:
            return 0.0
        return 0.85

    def compact(self, material: Material) -> Compacted:
        table = read_table(material.head)
        if table is None:
            return Compacted("table that could not be read", (clip(material.head),), "beginning")
        count = f"{len(table.rows)}" if material.whole else f"at least {len(table.rows)}"
        lines = [f"Columns: {', '.join(clip(name, 40) for name in table.columns[:30])}"]
        lines += [_row(table, row) for row in table.rows[:_SHOWN_ROWS]]
        lines += [f"last: {_row(table, table.rows[-1])}"] if len(table.rows) > _SHOWN_ROWS else []
        lines += _ranges(table)
        what = f"table of {count} rows, {len(table.columns)} columns"
        return Compacted(what, tuple(lines), "columns, end rows, ranges")


def _row(table: Table, row: tuple[str, ...]) -> str:
    return clip(" | ".join(clip(cell, 60) for cell in row[: len(table.columns)]), 400)


def _ranges(table: Table) -> list[str]:
    """Lowest and highest value of the columns that hold numbers only."""
    found = []
    for place, name in enumerate(table.columns[:30]):
        cells = [row[place] for row in table.rows if place < len(row) and row[place]]
        numbers = [value for value in map(_number, cells) if value is not None]
        if len(numbers) == len(cells) and len(numbers) > 2:
            found.append(f"{clip(name, 40)} {min(numbers):g}…{max(numbers):g}")
    return [f"Ranges: {', '.join(found)}"] if found else []


def _number(cell: str) -> float | None:
    try:
        value = float(cell[:40].replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
