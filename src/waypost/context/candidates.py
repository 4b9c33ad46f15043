"""What may enter a context: a piece of memory in one or more forms, with its worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from waypost.context.sections import PLACES, Section
from waypost.model.context import Form
from waypost.model.recall import Why
from waypost.model.vocabulary import Origin, Tier, Trust


@dataclass(frozen=True)
class Version:
    """One form of a candidate and its text. Empty means that there is no such form after all."""

    form: Form
    text: str


class LateVersion:
    """A version whose text is made when it is first asked for: most are never needed."""

    def __init__(self, form: Form, size: int, make: Callable[[], str | None]) -> None:
        self.form = form
        self.size = size
        """About how many tokens it will have."""
        self._make = make

    @cached_property
    def text(self) -> str:
        return self._make() or ""


AnyVersion = Version | LateVersion


@dataclass(frozen=True)
class StandIn:
    """A summary that may stand for many candidates that do not fit."""

    entry_id: str
    form: Form
    text: str
    timestamp: datetime
    trust: Trust


@dataclass(frozen=True)
class Candidate:
    """``versions`` run from the fullest to the shortest; ``pinned`` ones are placed first.

    ``size`` is about how many tokens the fullest has. ``stand_ins`` are summaries that may
    take its place, the nearest first. ``parent_id`` names the entry it was derived from:
    when that one is shown in full and says the same words, the child would only repeat it.
    """

    entry_id: str
    section: Section
    tier: Tier
    versions: tuple[AnyVersion, ...]
    value: float
    reason: str
    timestamp: datetime | None = None
    origin: Origin = Origin.AGENT
    trust: Trust = Trust.MEDIUM
    pinned: bool = False
    disputed: bool = False
    size: int = 0
    stand_ins: tuple[StandIn, ...] = ()
    parent_id: str | None = None
    why: Why | None = None


@dataclass(frozen=True)
class Chosen:
    """A candidate in the form that was picked for it."""

    candidate: Candidate
    version: AnyVersion

    @property
    def place(self) -> tuple[int, float, str]:
        """Sections in reading order, oldest first inside: additions land at the end."""
        moment = self.candidate.timestamp
        return (
            PLACES[self.candidate.section],
            moment.timestamp() if moment else 0.0,
            self.candidate.entry_id,
        )
