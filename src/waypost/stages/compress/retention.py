"""Measure what a summary kept, and whether it says anything its sources do not.

Retention is the weighted share of the ledger's facts that stand in some line of the summary with
their anchors: a value with its unit and at least one of the words that stood on the same side of
it; a statement with seven tenths of its content words and every value in it, all in one stretch
of the line not much longer than itself, and the same polarity.
A line is unsupported when one of its values or names, or more than two fifths of its words, are
nowhere in the sources it cites (all sources, when it cites none).

The measure reads text only, so it judges both engines, and any other summary, alike.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from waypost.stages.compress import ledger as ledgers
from waypost.stages.compress.commands import expand
from waypost.stages.compress.facts import TypedFact
from waypost.stages.compress.ledger import Entry, Ledger
from waypost.stages.compress.near_repeats import STATEMENT_SHARE
from waypost.stages.compress.sources import Source, from_text
from waypost.stages.compress.units import unescaped
from waypost.stages.compress.words import VALUES, Token, tokenize

SUPPORTED_SHARE = 0.6
_WINDOW = 2
# A statement's words stand in a stretch at most so many times its length, and a few words more.
_SPREAD, _SLACK = 2, 4
_PART = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class RetentionReport:
    """What was kept, by weight; what was lost, heaviest first; what has no support."""

    retention: float
    pinned_kept: float
    facts: int
    kept: int
    by_kind: dict[str, tuple[int, int]]
    lost: tuple[str, ...]
    unsupported: tuple[str, ...]


class SummaryIndex:
    """The lines of a summary as forms, searchable by form."""

    def __init__(self, lines: Sequence[str]) -> None:
        read = [[tokenize(text) for text in expand(line)] for line in lines]
        readings = [tokens for line in read for tokens in line]
        self.lines = [[token for tokens in line for token in tokens] for line in read]
        self.forms = [[token.form for token in line if token.is_content] for line in readings]
        self.units = [[token.unit for token in line if token.is_content] for line in readings]
        self.negated = [any(token.negates for token in line) for line in readings]
        self.places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, line in enumerate(self.forms):
            for place, form in enumerate(line):
                self.places[form].append((number, place))

    def keeps(self, entry: Entry) -> bool:
        """Whether any instance of a fact stands in a line with its anchors."""
        return any(self._keeps(fact) for fact in entry.instances)

    def _keeps(self, fact: TypedFact) -> bool:
        if fact.is_statement:
            return self._keeps_words(fact, STATEMENT_SHARE)
        if fact.kind == "listing":
            return self._keeps_words(fact, 0.5)
        if fact.kind == "command":
            return self._keeps_words(fact, 0.99)
        return any(
            self._anchored(fact, line, place) for line, place in self.places.get(fact.forms[0], ())
        )

    def _anchored(self, fact: TypedFact, line: int, place: int) -> bool:
        forms = self.forms[line]
        after = place + len(fact.forms)
        if tuple(forms[place:after]) != fact.forms:
            return False
        if fact.unit and fact.unit not in (self.units[line][place], *forms[after : after + 1]):
            return False
        left = set(forms[max(0, place - _WINDOW) : place])
        right = set(forms[after : after + _WINDOW])
        wanted = (set(fact.left) & left) or (set(fact.right) - {fact.unit} & right)
        return bool(wanted) or not (set(fact.left) | (set(fact.right) - {fact.unit}))

    def _keeps_words(self, fact: TypedFact, share: float) -> bool:
        wanted = set(fact.forms)
        shared = Counter(
            line for form in wanted for line in {at for at, _ in self.places.get(form, ())}
        )
        return any(
            count >= share * len(wanted)
            and (not fact.is_statement or self._states(fact, wanted, line))
            for line, count in shared.items()
        )

    def _states(self, fact: TypedFact, wanted: set[str], line: int) -> bool:
        """Whether a line says a statement in one place, with its values, and does not deny it."""
        if self.negated[line] is not fact.negated:
            return False
        return any(
            fact.values <= found and len(found & wanted) >= STATEMENT_SHARE * len(wanted)
            for found in _windows(self.forms[line], _SPREAD * len(wanted) + _SLACK)
        )


def _windows(forms: list[str], width: int) -> Iterator[set[str]]:
    """Every stretch of a line of the given width; the whole line when it is no longer."""
    for start in range(max(1, len(forms) - width + 1)):
        yield set(forms[start : start + width])


def measure(
    sources: Sequence[Source],
    lines: Sequence[str],
    *,
    cited: Sequence[Sequence[str]] | None = None,
    ledger: Ledger | None = None,
) -> RetentionReport:
    """Judge the lines of a summary against its sources.

    ``cited`` names, for each line, the ids of the sources it rests on; without it every line may
    rest on all of them.
    """
    ledger = ledger or ledgers.build(sources)
    index = SummaryIndex(lines)
    kept = [index.keeps(entry) for entry in ledger.entries]
    total = ledger.total
    weight = sum(entry.weight for entry, held in zip(ledger.entries, kept, strict=True) if held)
    return RetentionReport(
        retention=weight / total if total else 1.0,
        pinned_kept=_pinned_kept(sources, index),
        facts=len(ledger.entries),
        kept=sum(kept),
        by_kind=_by_kind(ledger.entries, kept),
        lost=_lost(ledger.entries, kept),
        unsupported=_unsupported(sources, lines, index, cited),
    )


def validate_compression_quality(original: str | Sequence[Source], compressed: str) -> float:
    """The share of the original's typed facts, by weight, that the compressed text keeps."""
    sources = [from_text(original)] if isinstance(original, str) else list(original)
    return measure(sources, compressed.splitlines()).retention


def _pinned_kept(sources: Sequence[Source], index: SummaryIndex) -> float:
    """The share of pinned lines of which every content word stands in one line."""
    pinned = [line for source in sources if source.pinned for line in source.text.splitlines()]
    tokens = [content for line in pinned if (content := _content(tokenize(line)))]
    if not tokens:
        return 1.0
    kept = sum(_stands(index, content) for content in tokens)
    return kept / len(tokens)


def _stands(index: SummaryIndex, content: list[Token]) -> bool:
    wanted = {token.form for token in content}
    rarest = min(wanted, key=lambda form: (len(index.places.get(form, ())), form))
    return any(wanted.issubset(index.forms[line]) for line, _ in index.places.get(rarest, ()))


def _content(tokens: list[Token]) -> list[Token]:
    return [token for token in tokens if token.is_content]


def _by_kind(entries: Sequence[Entry], kept: Sequence[bool]) -> dict[str, tuple[int, int]]:
    """For each kind of fact: how many of weight were kept, of how many."""
    counts: dict[str, list[int]] = {}
    for entry, held in zip(entries, kept, strict=True):
        if entry.weight > 0:
            count = counts.setdefault(entry.kind, [0, 0])
            count[0] += held
            count[1] += 1
    return {kind: (count[0], count[1]) for kind, count in sorted(counts.items())}


def _lost(entries: Sequence[Entry], kept: Sequence[bool], most: int = 50) -> tuple[str, ...]:
    lost = [
        entry for entry, held in zip(entries, kept, strict=True) if not held and entry.weight > 0
    ]
    lost.sort(key=lambda entry: -entry.weight)
    return tuple(f"{entry.kind}: {entry.instances[0].text}" for entry in lost[:most])


def _unsupported(
    sources: Sequence[Source],
    lines: Sequence[str],
    index: SummaryIndex,
    cited: Sequence[Sequence[str]] | None,
) -> tuple[str, ...]:
    by_id = {source.source_id: source for source in sources}
    words = cache(lambda name: known_words(by_id[name]))
    everything = cache(lambda: set().union(*map(words, by_id)))
    found = []
    for number, line in enumerate(lines):
        names = [name for name in (cited[number] if cited else ()) if name in by_id]
        known = set().union(*map(words, names)) if names else everything()
        if not _is_supported(_content(index.lines[number]), known):
            found.append(line)
    return tuple(found)


def known_words(source: Source) -> set[str]:
    """Every form, unit and bare word of a source."""
    known: set[str] = set()
    for text in dict.fromkeys((source.text, unescaped(source.text), *source.commands)):
        known.update(_PART.findall(text.lower()))
        for token in tokenize(text):
            known.update((token.form, token.unit))
    return known


def is_supported(line: str, known: set[str]) -> bool:
    """Whether a line says nothing beyond the given words."""
    return _is_supported(_content(tokenize(line)), known)


def _is_supported(content: list[Token], known: set[str]) -> bool:
    if not content:
        return True
    if not all(_is_known(token, known) for token in content if token.kind in VALUES):
        return False
    return sum(_is_known(token, known) for token in content) >= SUPPORTED_SHARE * len(content)


def _is_known(token: Token, known: set[str]) -> bool:
    """A number must stand in the source as it is; of anything else, all parts must."""
    if token.form in known:
        return token.unit in known
    return token.kind != "number" and known.issuperset(_PART.findall(token.text.lower()))
