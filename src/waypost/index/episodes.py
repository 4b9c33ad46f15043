"""Episodes: which rows belong together, and who stands before and after whom.

A row names its episode (its run, else its task), or joins the stretch of the agent's
timeline it falls into: rows with no name and no gap of more than an hour between them.
Within an episode rows are ordered by time, then row id, as a doubly linked list in two
columns, so that a late arrival or a removal relinks its neighbours only.

Invariant: ``next[previous[s]] == s`` for every linked slot s; 0 stands for nobody.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort

import numpy as np

from waypost.index.columns import Column

LONGEST_GAP_SECONDS = 3600.0


class Stretches:
    """Unnamed episodes by the time they start."""

    def __init__(self) -> None:
        self._order: list[tuple[float, int]] = []
        self._starts: dict[int, float] = {}

    def before(self, time: float) -> int | None:
        """The stretch that starts last at or before this time."""
        place = bisect_right(self._order, (time, 1 << 62))
        return self._order[place - 1][1] if place else None

    def after(self, time: float) -> int | None:
        """The stretch that starts first after this time."""
        place = bisect_right(self._order, (time, 1 << 62))
        return self._order[place][1] if place < len(self._order) else None

    def start(self, code: int, time: float) -> None:
        self.drop(code)
        self._starts[code] = time
        insort(self._order, (time, code))

    def drop(self, code: int) -> None:
        time = self._starts.pop(code, None)
        if time is not None:
            del self._order[bisect_left(self._order, (time, code))]


class Episodes:
    """Places slots into episodes; time, row id and length of a slot are read from its columns."""

    def __init__(
        self, times: Column[np.float64], row_ids: Column[np.int64], row_lengths: Column[np.int32]
    ) -> None:
        self._times = times
        self._row_ids = row_ids
        self._row_lengths = row_lengths
        self.code: Column[np.int32] = Column(np.int32)
        self.previous: Column[np.int64] = Column(np.int64)
        self.next: Column[np.int64] = Column(np.int64)
        self.lengths: Column[np.float64] = Column(np.float64)
        self.names: list[str | None] = []
        self.occupied = 0
        self._codes: dict[str, int] = {}
        self._first: list[int] = []
        self._last: list[int] = []
        self._stretches = Stretches()

    def reserve(self, rows: int) -> None:
        for column in (self.code, self.previous, self.next):
            column.reserve(rows)

    def place(self, slot: int, name: str | None) -> None:
        """Link a new slot into its episode."""
        code = self._stretch(slot) if name is None else self._named(name)
        self.occupied += not self._first[code]
        self._link(slot, code)
        self.lengths.data[code] += self._row_lengths.data[slot]
        if name is None:
            self._widen(slot, code)

    def take_out(self, slot: int) -> None:
        """Unlink a slot; its neighbours become each other's."""
        code, before, after = self._around(slot)
        self._join(before, after, code)
        self.previous.data[slot] = self.next.data[slot] = 0
        self.lengths.data[code] -= self._row_lengths.data[slot]
        self.occupied -= not self._first[code]
        if self.names[code] is None:
            self._narrow(code, before, after)

    def name_of(self, slot: int) -> str | None:
        return self.names[int(self.code.data[slot])]

    @property
    def ends(self) -> tuple[list[int], list[int]]:
        """The first and the last slot of every episode; 0 for an empty one."""
        return self._first, self._last

    def restore(self, names: list[str | None], first: list[int], last: list[int]) -> None:
        """Rebuild the look-ups after the columns were read from a file."""
        self.names, self._first, self._last = names, first, last
        self.occupied = sum(1 for slot in first if slot)
        for code, name in enumerate(names):
            if name is not None:
                self._codes[name] = code
            elif first[code]:
                self._stretches.start(code, self._time(first[code]))

    def _named(self, name: str) -> int:
        code = self._codes.get(name)
        if code is None:
            code = self._codes[name] = self._open(name)
        return code

    def _open(self, name: str | None) -> int:
        self.names.append(name)
        self._first.append(0)
        self._last.append(0)
        self.lengths.reserve(len(self.names))
        return len(self.names) - 1

    def _stretch(self, slot: int) -> int:
        """The stretch of time that this slot falls into or touches, else a new one."""
        time = self._time(slot)
        before, after = self._stretches.before(time), self._stretches.after(time)
        if before is not None and time - self._time(self._last[before]) <= LONGEST_GAP_SECONDS:
            return before
        if after is not None and self._time(self._first[after]) - time <= LONGEST_GAP_SECONDS:
            return after
        return self._open(None)

    def _widen(self, slot: int, code: int) -> None:
        """After a placement: note an earlier start, join the next stretch if now in reach."""
        time = self._time(slot)
        if self._first[code] == slot:
            self._stretches.start(code, time)
        if self._last[code] == slot:
            later = self._stretches.after(time)
            if later is not None and self._time(self._first[later]) - time <= LONGEST_GAP_SECONDS:
                self._absorb(code, later)

    def _narrow(self, code: int, before: int, after: int) -> None:
        """After a removal: forget an empty stretch, note a later start, split at a gap."""
        if not self._first[code]:
            self._stretches.drop(code)
        elif not before:
            self._stretches.start(code, self._time(after))
        elif after and self._time(after) - self._time(before) > LONGEST_GAP_SECONDS:
            self._split(before, after, code)

    def _absorb(self, code: int, later: int) -> None:
        self._stretches.drop(later)
        first, last = self._first[later], self._last[later]
        self._first[later] = self._last[later] = 0
        self.occupied -= 1
        self._relabel(first, code)
        self._link_both(self._last[code], first)
        self._last[code] = last

    def _split(self, before: int, after: int, code: int) -> None:
        """Give the part of a stretch from ``after`` on an episode of its own."""
        new = self._open(None)
        self._first[new], self._last[new] = after, self._last[code]
        self._last[code] = before
        self.next.data[before] = self.previous.data[after] = 0
        self.occupied += 1
        self._relabel(after, new)
        self._stretches.start(new, self._time(after))

    def _relabel(self, slot: int, code: int) -> None:
        """Move a slot and all that follow it to another episode."""
        while slot:
            length = self._row_lengths.data[slot]
            self.lengths.data[self.code.data[slot]] -= length
            self.lengths.data[code] += length
            self.code.data[slot] = code
            slot = int(self.next.data[slot])

    def _link(self, slot: int, code: int) -> None:
        self.code.data[slot] = code
        before, key = self._last[code], self._key(slot)
        first = self._first[code]
        if first and self._key(first) > key:
            before = 0
        while before and self._key(before) > key:
            before = int(self.previous.data[before])
        after = int(self.next.data[before]) if before else first
        self._join(before, slot, code)
        self._join(slot, after, code)

    def _join(self, before: int, after: int, code: int) -> None:
        """Make two slots neighbours; nobody on one side makes the other an end."""
        self._link_both(before, after)
        if not before:
            self._first[code] = after
        if not after:
            self._last[code] = before

    def _link_both(self, before: int, after: int) -> None:
        if before:
            self.next.data[before] = after
        if after:
            self.previous.data[after] = before

    def _around(self, slot: int) -> tuple[int, int, int]:
        code, before, after = (c.data[slot] for c in (self.code, self.previous, self.next))
        return int(code), int(before), int(after)

    def _key(self, slot: int) -> tuple[float, int]:
        return self._time(slot), int(self._row_ids.data[slot])

    def _time(self, slot: int) -> float:
        return float(self._times.data[slot])
