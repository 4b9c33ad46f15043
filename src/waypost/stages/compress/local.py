"""The local engine: an extractive summary with proof, no model, no network.

Facts go into a ledger, units are selected to cover it, and each line is a unit of its source with
the ids of every source that says the same. Pinned sources are kept line by line. The retention
floor is met first; the token target is filled with further facts when there is room. Same sources,
same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from waypost.model import SummaryLine
from waypost.stages.compress import ledger as ledgers
from waypost.stages.compress.commands import merge
from waypost.stages.compress.facts import statement_kind
from waypost.stages.compress.ledger import Ledger
from waypost.stages.compress.retention import RetentionReport, SummaryIndex, measure
from waypost.stages.compress.selection import select
from waypost.stages.compress.sources import Source
from waypost.stages.compress.units import GIVEN, Unit
from waypost.tokens import count_tokens

RETENTION_FLOOR = 0.95
_STEP = 0.01
_TRIMS = 6
_MOST_SOURCES = 20


@dataclass(frozen=True, slots=True)
class Target:
    """How short a summary should be: a ratio, a cap in tokens, and the retention before both."""

    ratio: float = 10.0
    max_tokens: int = 500
    retention: float = RETENTION_FLOOR

    def tokens(self, original: int) -> int:
        return max(1, min(self.max_tokens, int(original / self.ratio)))


@dataclass(frozen=True, slots=True)
class Given:
    """A line that was written elsewhere, and the positions of the sources it rests on."""

    text: str
    sources: tuple[int, ...]


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


def compress(
    sources: Sequence[Source], target: Target = STAGE_TARGET, *, given: Sequence[Given] = ()
) -> Compressed:
    """Summarise sources down to the target, never below its retention.

    ``given`` lines (a model's) go before the sources' own where they keep as many facts; what they
    lost is put back, and those that keep no fact the others lack are left out.
    """
    original = original_tokens(sources)
    ledger = ledgers.build(sources)
    _add_given(ledger, given)
    wanted = target.tokens(original)
    attempt = _Attempt(ledger, wanted)
    floor = target.retention
    best = attempt.at(floor)
    while best.report.retention < target.retention and floor < 1.0:
        floor = min(1.0, floor + _STEP)
        best = max(best, attempt.at(floor), key=lambda draft: draft.report.retention)
    for _ in range(_TRIMS if best.tokens > wanted else 0):
        floor -= _STEP
        shorter = attempt.at(floor)
        if shorter.report.retention < target.retention:
            break
        best = min(best, shorter, key=lambda draft: draft.tokens)
    return _finish(best, original, target)


@dataclass(frozen=True, slots=True)
class _Draft:
    lines: tuple[SummaryLine, ...]
    tokens: int
    report: RetentionReport


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Drafts of one summary at different floors.

    The selection covers facts by unit, the measure reads lines, where one line may keep what
    another said. So the right floor is found by drafting: higher while the measure finds too
    little kept, lower while it finds more than is asked and the draft is too long.
    """

    ledger: Ledger
    budget: int

    def at(self, floor: float) -> _Draft:
        lines = _draft(self.ledger, floor, self.budget)
        texts = [line.text for line in lines]
        cited = [line.source_ids for line in lines]
        report = measure(self.ledger.sources, texts, cited=cited, ledger=self.ledger)
        return _Draft(lines, count_tokens("\n".join(texts)), report)


def original_tokens(sources: Sequence[Source]) -> int:
    return sum(count_tokens(text) for source in sources for text in (source.text, *source.commands))


def _add_given(ledger: Ledger, given: Sequence[Given]) -> None:
    """Enter lines from elsewhere as units that hold whatever facts they keep."""
    for line in given:
        index = SummaryIndex([line.text])
        for entry in ledger.entries:
            if index.keeps(entry):
                entry.units.append(len(ledger.units))
        first, *also = line.sources
        ledger.units.append(Unit(line.text, first, GIVEN, tuple(also)))


def _draft(ledger: Ledger, floor: float, budget: int) -> tuple[SummaryLine, ...]:
    always = [
        place
        for place, unit in enumerate(ledger.units)
        if ledger.sources[unit.source].pinned and unit.shape == "prose"
    ]
    chosen = select(ledger, floor=floor, budget=budget, count=count_tokens, always=always)
    chosen.sort(key=lambda place: (ledger.units[place].source, place))
    same = _same_words(ledger, chosen)
    return merge(_line(ledger, unit, same[ledger.units[unit].text]) for unit in chosen)


def _same_words(ledger: Ledger, chosen: Sequence[int]) -> dict[str, dict[str, None]]:
    """For each chosen text the ids of all sources that have it word for word, a few at most."""
    found: dict[str, dict[str, None]] = {ledger.units[place].text: {} for place in chosen}
    for unit in ledger.units:
        ids = found.get(unit.text)
        if ids is not None and len(ids) < _MOST_SOURCES:
            for position in (unit.source, *unit.also):
                ids[ledger.sources[position].source_id] = None
    return found


def _line(ledger: Ledger, position: int, source_ids: Iterable[str]) -> SummaryLine:
    unit = ledger.units[position]
    first, count = ledger.repeated.get(position, (position, 1))
    source = ledger.sources[unit.source]
    marked = count > 1 and first == position
    return SummaryLine(
        text=f"{unit.text} ×{count}" if marked else unit.text,
        source_ids=tuple(source_ids),
        pinned=source.pinned and unit.shape != GIVEN,
        kind=line_kind(unit, source),
        personal=source.personal and unit.shape != GIVEN,
    )


def line_kind(unit: Unit, source: Source) -> str:
    if unit.shape == "command":
        return "command"
    if unit.shape == GIVEN:
        unit = replace(unit, shape="prose")
    return statement_kind(unit, bulk=source.bulk, personal=source.personal) or "fact"


def _finish(draft: _Draft, original: int, target: Target) -> Compressed:
    wanted = target.tokens(original)
    note = None
    if draft.tokens > wanted:
        note = (
            f"{draft.tokens} tokens instead of {wanted}: keeping {target.retention:.0%} of the "
            "facts needs the room"
        )
    return Compressed(draft.lines, original, draft.tokens, draft.report, note)
