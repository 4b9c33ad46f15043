"""Templates: lines that differ only in their values are one line, seen many times.

Logs, listings and tables repeat a form with other numbers, ids and dates. Masking the values gives
the form; one line per form, with the count, says what the listing was.
"""

from __future__ import annotations

from collections import defaultdict

from waypost.stages.compress.units import Unit
from waypost.stages.compress.words import VALUES, tokenize

REPEATED = 3
_LONGEST = 24


def mask(text: str) -> tuple[str, ...]:
    """The form of a line: its words by stem, each value by its kind."""
    return tuple(
        f"<{token.kind}>" if token.kind in VALUES else token.form
        for token in tokenize(text)[:_LONGEST]
    )


def group(units: list[Unit]) -> dict[int, tuple[int, int]]:
    """For each unit of a repeated form: the first unit of that form, and how many there are.

    Only machine lines and records are grouped; prose that repeats is a repeated statement.
    """
    members: dict[tuple[int, tuple[str, ...]], list[int]] = defaultdict(list)
    for position, unit in enumerate(units):
        if unit.shape in ("line", "record"):
            members[(0, mask(unit.text))].append(position)
    return {
        position: (positions[0], len(positions))
        for positions in members.values()
        if len(positions) >= REPEATED
        for position in positions
    }
