"""The inverted index: which rows hold a term, how often, and how often near their start.

Rows arrive in a small unsorted log. A full log is sorted into a segment (term by term,
rows ascending), and segments of one size are merged into the next size, as in a
log-structured tree: adding costs the same on average at any size, and no merge is
larger than ``LARGEST_SEGMENT`` entries. Segments never change once built, so a reader
that took ``view()`` works on undisturbed while the writer goes on.

Entries of removed rows stay until the index is rebuilt; readers skip them by the live
flag of the row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

HEAD_TERMS = 25
"""How many terms at the start of a row may lend context to its neighbours."""

LOG_ENTRIES = 1 << 14
LARGEST_SEGMENT = 1 << 23
_FAN_IN = 4

Counts: TypeAlias = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Entries:
    """Postings as parallel arrays: term, row, count in the row, count in its head."""

    terms: NDArray[np.int32]
    rows: NDArray[np.int32]
    counts: Counts
    heads: Counts

    def __len__(self) -> int:
        return len(self.terms)

    def __getitem__(self, part: slice | NDArray[np.int64]) -> Entries:
        return Entries(self.terms[part], self.rows[part], self.counts[part], self.heads[part])


def join(parts: Sequence[Entries]) -> Entries:
    return Entries(
        np.concatenate([p.terms for p in parts]),
        np.concatenate([p.rows for p in parts]),
        np.concatenate([p.counts for p in parts]),
        np.concatenate([p.heads for p in parts]),
    )


@dataclass(frozen=True, slots=True)
class Segment:
    """Sorted postings; ``starts[i]`` is where the entries of ``terms[i]`` begin."""

    terms: NDArray[np.int32]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: Counts
    heads: Counts

    def __len__(self) -> int:
        return len(self.rows)

    def entries(self) -> Entries:
        terms = np.repeat(self.terms, np.diff(self.starts))
        return Entries(terms, self.rows, self.counts, self.heads)


@dataclass(frozen=True, slots=True)
class Postings:
    """The rows of one term; each row occurs once."""

    rows: NDArray[np.int32]
    counts: Counts
    heads: Counts


def sort_entries(entries: Entries) -> Segment:
    order = np.argsort(entries.terms, kind="stable")
    terms = entries.terms[order]
    firsts = np.flatnonzero(np.r_[True, terms[1:] != terms[:-1]]) if len(terms) else terms[:0]
    starts = np.append(firsts, len(terms)).astype(np.int64)
    return Segment(
        terms[firsts], starts, entries.rows[order], entries.counts[order], entries.heads[order]
    )


def count_terms(rows: NDArray[np.int32], terms: Sequence[NDArray[np.int32]]) -> Entries:
    """Count the terms of each row; ``terms[i]`` are those of ``rows[i]`` in their order."""
    if len(rows) == 1:
        return _count_one(int(rows[0]), terms[0].tolist())
    lengths = np.array([len(t) for t in terms], np.int64)
    flat = np.concatenate(terms) if len(terms) else np.zeros(0, np.int32)
    owner = np.repeat(np.arange(len(rows)), lengths)
    place = np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    keys, inverse, counts = np.unique((owner << 32) | flat, return_inverse=True, return_counts=True)
    heads = np.bincount(inverse, weights=place < HEAD_TERMS, minlength=len(keys))
    return Entries(
        (keys & 0xFFFFFFFF).astype(np.int32),
        rows[keys >> 32],
        np.minimum(counts, 255).astype(np.uint8),
        heads.astype(np.uint8),
    )


def _count_one(row: int, terms: list[int]) -> Entries:
    """The same for one row, without the fixed cost of working on arrays."""
    counts, heads = Counter(terms), Counter(terms[:HEAD_TERMS])
    return Entries(
        np.array(list(counts), np.int32),
        np.full(len(counts), row, np.int32),
        np.array([min(count, 255) for count in counts.values()], np.uint8),
        np.array([heads[term] for term in counts], np.uint8),
    )


class PostingsView:
    """One moment of the inverted index, safe to read while the writer goes on."""

    def __init__(self, segments: tuple[Segment, ...], log: Entries) -> None:
        self._segments = segments
        self._log = log

    def find(self, terms: Iterable[int]) -> list[Postings]:
        """The postings of each term, in the order asked."""
        wanted = np.fromiter(terms, np.int32)
        parts: list[list[Entries]] = [[] for _ in wanted]
        for segment in self._segments:
            _find_in_segment(segment, wanted, parts)
        for term, found in zip(wanted, parts, strict=True):
            hits = np.flatnonzero(self._log.terms == term)
            if len(hits):
                found.append(self._log[hits])
        return [_one_term(found) for found in parts]


def _find_in_segment(
    segment: Segment, wanted: NDArray[np.int32], parts: list[list[Entries]]
) -> None:
    places = np.searchsorted(segment.terms, wanted)
    for number, (place, term) in enumerate(zip(places.tolist(), wanted.tolist(), strict=True)):
        if place < len(segment.terms) and segment.terms[place] == term:
            run = slice(int(segment.starts[place]), int(segment.starts[place + 1]))
            rows = segment.rows[run]
            parts[number].append(Entries(rows, rows, segment.counts[run], segment.heads[run]))


def _one_term(parts: list[Entries]) -> Postings:
    if not parts:
        empty = np.zeros(0, np.uint8)
        return Postings(np.zeros(0, np.int32), empty, empty)
    entries = parts[0] if len(parts) == 1 else join(parts)
    return Postings(entries.rows, entries.counts, entries.heads)


class InvertedIndex:
    """The writer's side. One thread at a time may call the methods that change it."""

    def __init__(self, segments: Iterable[Segment] = ()) -> None:
        self._segments: tuple[Segment, ...] = tuple(segments)
        self._log = _empty_log()
        self._used = 0
        self._view = (self._segments, self._log, 0)

    def add(self, entries: Entries) -> None:
        """Append the postings of new rows; row numbers must be above all earlier ones."""
        if self._used + len(entries) > LOG_ENTRIES:
            self.flush()
        if len(entries) > LOG_ENTRIES // 2:
            self._push(sort_entries(entries))
        else:
            self._append(entries)
        self._view = (self._segments, self._log, self._used)

    def view(self) -> PostingsView:
        segments, log, used = self._view
        return PostingsView(segments, log[:used])

    def flush(self) -> None:
        """Sort the log into a segment."""
        if self._used:
            segment = sort_entries(self._log[: self._used])
            self._log, self._used = _empty_log(), 0
            self._push(segment)
        self._view = (self._segments, self._log, self._used)

    @property
    def segments(self) -> tuple[Segment, ...]:
        return self._segments

    @property
    def nbytes(self) -> int:
        per_segment = (s.rows.nbytes * 3 // 2 + s.terms.nbytes * 3 for s in self._segments)
        return sum(per_segment) + LOG_ENTRIES * 10

    def _append(self, entries: Entries) -> None:
        part = slice(self._used, self._used + len(entries))
        self._log.terms[part] = entries.terms
        self._log.rows[part] = entries.rows
        self._log.counts[part] = entries.counts
        self._log.heads[part] = entries.heads
        self._used += len(entries)

    def _push(self, segment: Segment) -> None:
        segments = [*self._segments, segment]
        while _worth_merging(segments):
            merged = sort_entries(join([s.entries() for s in segments[-_FAN_IN:]]))
            segments[-_FAN_IN:] = [merged]
        self._segments = tuple(segments)


def _worth_merging(segments: list[Segment]) -> bool:
    """True when the last few segments are of about one size and small enough to join."""
    last = segments[-_FAN_IN:]
    total = sum(len(s) for s in last)
    largest = max(len(s) for s in last)
    return len(last) == _FAN_IN and largest * 2 <= total and total <= LARGEST_SEGMENT


def _empty_log() -> Entries:
    return Entries(
        np.zeros(LOG_ENTRIES, np.int32),
        np.zeros(LOG_ENTRIES, np.int32),
        np.zeros(LOG_ENTRIES, np.uint8),
        np.zeros(LOG_ENTRIES, np.uint8),
    )
