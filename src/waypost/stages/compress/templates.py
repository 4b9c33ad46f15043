"""Templates: lines that differ only in their values are one line, seen many times.

Logs, listings and tables repeat a form with other numbers, ids and dates. Masking the values gives
the form; one line per form, with the count, says what the listing was.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from waypost.stages.compress.sources import Source
from waypost.stages.compress.units import Unit

REPEATED = 3
_LONGEST = 24
_VARIES = re.compile(r"[\d/\\@]")


def mask(text: str) -> tuple[str, ...]:
    """The form of a line: its words in lower case, anything with a digit or a path as ``#``."""
    return tuple(
        "#" if _VARIES.search(piece) else piece.lower() for piece in text.split()[:_LONGEST]
    )


def group(units: Sequence[Unit], sources: Sequence[Source]) -> dict[int, tuple[int, int]]:
    """For each unit of a repeated form: the first unit of that form, and how many there are.

    Machine lines, records and the text of bulk output are grouped; what is said again in prose is
    a repeated statement.
    """
    members: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, unit in enumerate(units):
        said = unit.shape == "command" or sources[unit.source].pinned
        if not said and (unit.shape in ("line", "record") or sources[unit.source].bulk):
            members[mask(unit.text)].append(position)
    return {
        position: (positions[0], len(positions))
        for positions in members.values()
        if len(positions) >= REPEATED
        for position in positions
    }
