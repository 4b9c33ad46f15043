"""The ledger: every distinct typed fact of some sources, its weight, and the units that hold it.

Weights follow four rules. A fact counts once, however often it is said, so what is rare weighs as
much as what is repeated. Statements that bind, end or break something weigh three times a value.
What is said, done or asked counts in full. A value inside bulk output (tool results, pages, files,
listings) counts in full where it is used outside; one that nothing used counts a tenth, except in
the latest result, which nothing could have used yet (the details of a stage, read for its task's
summary, are never that); and where a result has more than a few such
values they fall off with the square of their number. A question counts while it is open: marked
as such, or among the last things said.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from waypost.stages.compress.facts import WEIGHTS, TypedFact, extract, is_marked_question
from waypost.stages.compress.near_repeats import Said, keepers
from waypost.stages.compress.sources import Source
from waypost.stages.compress.templates import REPEATED, group
from waypost.stages.compress.units import Unit, split_sources
from waypost.stages.compress.words import tokenize

FEW_VALUES = 4
UNUSED = 0.1
_LAST_WORDS = 3
_MAX_INSTANCES = 12
# Characters: shorter units are not worth cutting; closer values belong to one snippet.
_LONG = 60
_NEAR = 8

Key = tuple[str, tuple[str, ...], str]


@dataclass(slots=True)
class Entry:
    """A distinct fact: its instances (the same fact with other neighbours) and where it stands."""

    kind: str
    weight: float
    instances: list[TypedFact] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Ledger:
    sources: Sequence[Source]
    units: list[Unit]
    entries: list[Entry]
    repeated: dict[int, tuple[int, int]]

    @property
    def total(self) -> float:
        return sum(entry.weight for entry in self.entries)

    def facts_of_units(self) -> list[list[int]]:
        """For each unit the positions of the entries it holds."""
        held: list[list[int]] = [[] for _ in self.units]
        for position, entry in enumerate(self.entries):
            for unit in entry.units:
                held[unit].append(position)
        return held


def build(sources: Sequence[Source]) -> Ledger:
    """Read sources into a ledger; linear in their length."""
    units = split_sources(list(sources))
    repeated = group(units, sources)
    bulk = [_is_bulk(unit, sources, position in repeated) for position, unit in enumerate(units)]
    said: dict[Key, Entry] = {}
    for position, fact in _facts(units, sources, bulk, wanted=False):
        _enter(said, fact, position, WEIGHTS[fact.kind])
    _close_answered_questions(said, units, sources)
    entries = list(said.values())
    entries += _bulk_entries(units, sources, bulk, said)
    entries += _listing_entries(units, repeated)
    _add_near_repeats(entries)
    _add_snippets(units, entries)
    return Ledger(sources, units, entries, repeated)


def _is_bulk(unit: Unit, sources: Sequence[Source], repeated: bool) -> bool:
    source = sources[unit.source]
    if source.pinned or unit.shape == "command":
        return False
    return source.bulk or repeated or unit.shape in ("line", "record")


def _facts(
    units: list[Unit], sources: Sequence[Source], bulk: list[bool], *, wanted: bool
) -> Iterator[tuple[int, TypedFact]]:
    for position, unit in enumerate(units):
        if bulk[position] is wanted:
            personal = sources[unit.source].personal
            for fact in extract(unit, bulk=wanted, personal=personal):
                yield position, fact


def _enter(entries: dict[Key, Entry], fact: TypedFact, position: int, weight: float) -> None:
    entry = entries.get(fact.key)
    if entry is None:
        entry = entries[fact.key] = Entry(fact.kind, weight)
    elif weight > entry.weight:
        entry.kind, entry.weight = fact.kind, weight
    if len(entry.instances) < _MAX_INSTANCES:
        entry.instances.append(fact)
    if not entry.units or entry.units[-1] != position:
        entry.units.append(position)
        entry.spans.append(fact.span)


def _bulk_entries(
    units: list[Unit], sources: Sequence[Source], bulk: list[bool], said: dict[Key, Entry]
) -> list[Entry]:
    """Facts found only in bulk output, weighted by how many there are in one source."""
    used = {form for key in said if key[0] == "value" for form in key[1]}
    found: dict[Key, Entry] = {}
    for position, fact in _facts(units, sources, bulk, wanted=True):
        known = fact.key in said or (not fact.is_statement and used.issuperset(fact.forms))
        if not known:
            _enter(found, fact, position, WEIGHTS[fact.kind])
    counts = Counter(_place(entry, units, sources) for entry in found.values())
    latest = max((unit.source for unit, held in zip(units, bulk, strict=True) if held), default=0)
    for entry in found.values():
        entry.weight *= min(1.0, (FEW_VALUES / counts[_place(entry, units, sources)]) ** 2)
        place = units[entry.units[-1]].source
        is_detail = bool(sources[place].group)
        if is_detail or (place < latest and not entry.instances[0].is_statement):
            entry.weight *= UNUSED
    return list(found.values())


def _place(entry: Entry, units: list[Unit], sources: Sequence[Source]) -> tuple[str, bool]:
    position = units[entry.units[0]].source
    return sources[position].group or str(position), entry.instances[0].is_statement


def _listing_entries(units: list[Unit], repeated: dict[int, tuple[int, int]]) -> list[Entry]:
    """One fact per repeated form: that there was such a listing."""
    firsts = sorted({first for first, _ in repeated.values()})
    share = min(1.0, FEW_VALUES / max(len(firsts), 1)) ** 2
    entries = []
    for first in firsts:
        words = tuple(dict.fromkeys(_words(units[first])))
        if words:
            fact = TypedFact("listing", words, text=units[first].text)
            entries.append(Entry("listing", WEIGHTS["listing"] * share, [fact], [first], [(0, 0)]))
    return entries


def _add_near_repeats(entries: list[Entry]) -> None:
    """Let units that say a statement in other words hold it too."""
    statements = [
        entry for entry in entries if entry.weight > 0 and entry.instances[0].is_statement
    ]
    facts = [entry.instances[0] for entry in statements]
    said = [
        Said(entry.units[0], frozenset(fact.forms), fact.negated)
        for entry, fact in zip(statements, facts, strict=True)
    ]
    for number, unit in keepers(facts, said):
        entry = statements[number]
        if unit not in entry.units:
            entry.units.append(unit)
            entry.spans.append((0, 0))


def _add_snippets(units: list[Unit], entries: list[Entry]) -> None:
    """Offer, beside each long unit, the parts of it that hold its values with their anchors.

    A snippet is a unit of its own, cut from the unit's text: the selection takes whichever covers
    more weight for its length.
    """
    spans: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for number, entry in enumerate(entries):
        for position, (start, end) in zip(entry.units, entry.spans, strict=True):
            if end and len(units[position].text) > _LONG:
                spans[position].append((start, end, number))
    for position in sorted(spans):
        for start, end, numbers in _clusters(sorted(spans[position])):
            unit = units[position]
            if (end - start) * 4 <= len(unit.text) * 3:
                for number in numbers:
                    entries[number].units.append(len(units))
                    entries[number].spans.append((0, 0))
                text = ("… " if start else "") + unit.text[start:end]
                units.append(Unit(text, unit.source, "snippet"))


def _clusters(spans: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, list[int]]]:
    """Join spans that touch or nearly touch."""
    start, end, first = spans[0]
    numbers = [first]
    for left, right, number in spans[1:]:
        if left > end + _NEAR:
            yield start, end, numbers
            start, end, numbers = left, right, []
        end = max(end, right)
        numbers.append(number)
    yield start, end, numbers


def _words(unit: Unit) -> Iterator[str]:
    return (
        token.form for token in tokenize(unit.text) if token.kind == "word" and token.is_content
    )


def _close_answered_questions(
    entries: dict[Key, Entry], units: list[Unit], sources: Sequence[Source]
) -> None:
    """Give no weight to questions that the conversation has gone past."""
    said = [place for place, source in enumerate(sources) if not source.bulk]
    recent = said[-_LAST_WORDS] if len(said) > _LAST_WORDS else 0
    last_unit = {
        (units[position].source, form): position
        for entry in entries.values()
        if entry.kind != "question"
        for fact in entry.instances
        for position in entry.units
        for form in fact.forms
    }
    for entry in entries.values():
        if entry.kind == "question" and not is_marked_question(entry.instances[0].text):
            asked = entry.units[-1]
            source = units[asked].source
            forms = set(entry.instances[0].forms)
            taken_up = sum(last_unit.get((source, form), -1) > asked for form in forms)
            if source < recent or 2 * taken_up >= len(forms):
                entry.weight = 0.0


__all__ = ["FEW_VALUES", "REPEATED", "Entry", "Ledger", "build"]
