"""The contract of a compactor, and what compactors share.

A compactor turns a sample of a result into a few lines, the most telling first. It is pure: the
same material gives the same lines. It never raises for odd input; when it cannot read what it
was given it says less. It returns lines, not a finished text: :func:`fit_lines` cuts them to an
exact number of tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from waypost.content.material import Material
from waypost.tokens import count_tokens, truncate_tokens

LINE_CHARACTERS = 300


@dataclass(frozen=True)
class Compacted:
    """A result in a few lines. ``what`` says what it is, ``kept`` what the lines hold of it."""

    what: str
    lines: tuple[str, ...]
    kept: str
    title: str | None = None


class Compactor(Protocol):
    """One kind of content. Third parties register theirs as ``waypost.compaction`` entry points."""

    name: str

    def confidence(self, material: Material) -> float:
        """How sure this compactor is, from 0 (not mine) to 1 (certainly mine). Quick and pure."""
        ...

    def compact(self, material: Material) -> Compacted:
        """Give the lines worth keeping, the most telling first."""
        ...


def fit_lines(lines: Iterable[str], budget: int) -> tuple[str, bool]:
    """Join lines until ``budget`` tokens are used; the last one is cut. True when all fitted."""
    kept: list[str] = []
    left = budget
    for line in lines:
        cost = count_tokens(line) + 1
        if cost > left:
            beginning = truncate_tokens(line, max(left - 2, 0)).rstrip()
            if len(beginning) >= 20:
                kept.append(beginning + "…")
            return "\n".join(kept), False
        kept.append(line)
        left -= cost
    return "\n".join(kept), True


def clip(text: str, limit: int = LINE_CHARACTERS) -> str:
    """Put text on one line and cut it after ``limit`` characters."""
    line = " ".join(text[: limit * 8].split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def media_is(material: Material, *names: str) -> bool:
    media = material.media_type.partition(";")[0].strip().lower()
    return any(media == name or media.endswith("+" + name) for name in names)


def listing(label: str, names: Sequence[str], limit: int = 12) -> list[str]:
    """One line "label: a, b, c", or none when there is nothing to list."""
    if not names:
        return []
    shown = ", ".join(clip(name, 120) for name in names[:limit])
    more = f", … {len(names) - limit} more" if len(names) > limit else ""
    return [f"{label}: {shown}{more}"]
