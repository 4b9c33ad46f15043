"""The local engine: an extractive summary with proof, no model, no network.

Facts go into a ledger, units are selected to cover it, and each line is a unit of its source with
the ids of every source that says the same. Pinned sources are kept line by line. The retention
floor is met first; the token target is filled with further facts when there is room. Same sources,
same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from waypost.model import SummaryLine
from waypost.stages.compress import ledger as ledgers
from waypost.stages.compress.ledger import Ledger
from waypost.stages.compress.retention import RetentionReport, measure
from waypost.stages.compress.selection import select
from waypost.stages.compress.sources import Source
from waypost.tokens import count_tokens

RETENTION_FLOOR = 0.95
# Covering is by unit, the measure by line: when they differ, the selection aims higher.
_STEP = 0.01
_MAX_SOURCES_PER_LINE = 20


@dataclass(frozen=True, slots=True)
class Target:
    """How short a summary should be: a ratio, a cap in tokens, and the retention that comes first."""

    ratio: float = 10.0
    max_tokens: int = 500
    retention: float = RETENTION_FLOOR

    def tokens(self, original: int) -> int:
        return max(1, min(self.max_tokens, int(original / self.ratio)))


STAGE_TARGET = Target(ratio=10.0, max_tokens=500)
TASK_TARGET = Target(ratio=5.0, max_tokens=2000)


@dataclass(frozen=True, slots=True)
class Compressed:
    """A summary with its proof. ``note`` says why it is longer than asked, if it is."""

    lines: tuple[SummaryLine, ...]
    original_tokens: int
    compressed_tokens: int
    report: RetentionReport
    note: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def ratio(self) -> float:
        return self.original_tokens / max(self.compressed_tokens, 1)


def compress(sources: Sequence[Source], target: Target = STAGE_TARGET) -> Compressed:
    """Summarise sources down to the target, never below its retention."""
    original = sum(
        count_tokens(text) for source in sources for text in (source.text, *source.commands)
    )
    ledger = ledgers.build(sources)
    floor = target.retention
    while True:
        lines = _draft(ledger, floor, target.tokens(original))
        report = measure(
            sources,
            [line.text for line in lines],
            cited=[line.source_ids for line in lines],
            ledger=ledger,
        )
        if report.retention >= target.retention or floor >= 1.0:
            return _finish(lines, original, report, target)
        floor = min(1.0, floor + _STEP)


def _draft(ledger: Ledger, floor: float, budget: int) -> tuple[SummaryLine, ...]:
    pinned = [
        place for place, unit in enumerate(ledger.units) if ledger.sources[unit.source].pinned
    ]
    chosen = select(ledger, floor=floor, budget=budget, count=count_tokens, always=pinned)
    chosen.sort(key=lambda place: (ledger.units[place].source, place))
    return tuple(_line(ledger, unit) for unit in chosen)


def _line(ledger: Ledger, position: int) -> SummaryLine:
    unit = ledger.units[position]
    first, count = ledger.repeated.get(position, (position, 1))
    source = ledger.sources[unit.source]
    marked = count > 1 and first == position
    return SummaryLine(
        text=f"{unit.text} ×{count}" if marked else unit.text,
        source_ids=(source.source_id,),
        pinned=source.pinned,
    )


def _finish(
    lines: tuple[SummaryLine, ...], original: int, report: RetentionReport, target: Target
) -> Compressed:
    tokens = count_tokens("\n".join(line.text for line in lines))
    wanted = target.tokens(original)
    note = None
    if tokens > wanted:
        note = (
            f"{tokens} tokens instead of {wanted}: keeping {target.retention:.0%} of the facts "
            "needs the room"
        )
    return Compressed(lines, original, tokens, report, note)
