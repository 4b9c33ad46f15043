"""What may enter a context: a piece of memory in one or more forms, with its worth."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from waypost.context.sections import PLACES, Section
from waypost.model.context import Form
from waypost.model.recall import Why
from waypost.model.vocabulary import Origin, Tier, Trust


@dataclass(frozen=True)
class Version:
    """One form of a candidate and its text."""

    form: Form
    text: str


@dataclass(frozen=True)
class StandIn:
    """A summary that may stand for many candidates that do not fit."""

    entry_id: str
    text: str
    timestamp: datetime
    trust: Trust


@dataclass(frozen=True)
class Candidate:
    """``versions`` run from the fullest to the shortest; ``pinned`` ones are placed first.

    ``parent_id`` names the entry it was derived from: when that one is shown in full
    and says the same words, the child would only repeat it.
    """

    entry_id: str
    section: Section
    tier: Tier
    versions: tuple[Version, ...]
    value: float
    reason: str
    timestamp: datetime | None = None
    origin: Origin = Origin.AGENT
    trust: Trust = Trust.MEDIUM
    pinned: bool = False
    stand_in: StandIn | None = None
    parent_id: str | None = None
    why: Why | None = None


@dataclass(frozen=True)
class Chosen:
    """A candidate in the form that was picked for it."""

    candidate: Candidate
    version: Version

    @property
    def place(self) -> tuple[int, float, str]:
        """Sections in reading order, oldest first inside: additions land at the end."""
        moment = self.candidate.timestamp
        return (
            PLACES[self.candidate.section],
            moment.timestamp() if moment else 0.0,
            self.candidate.entry_id,
        )
