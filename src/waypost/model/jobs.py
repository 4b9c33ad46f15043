"""Work that was asked for and is done later, by whichever worker comes first."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from waypost.model.base import Value
from waypost.model.ids import CallerId, MintedId
from waypost.model.times import UtcTime


class JobKind(StrEnum):
    COMPLETE_STAGE = "complete_stage"
    PRUNE = "prune"
    ERASE = "erase"


class JobStatus(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Job(Value):
    """One job. ``result`` is there when it is done, ``error`` when an attempt has failed.

    A job that ended is kept for a day, so that whoever asked can learn what came of it.
    """

    job_id: MintedId
    agent_id: CallerId
    kind: JobKind
    status: JobStatus
    attempts: int = 0
    error: str | None = None
    result: dict[str, Any] | None = None
    created_at: UtcTime
    finished_at: UtcTime | None = None

    @property
    def has_ended(self) -> bool:
        return self.finished_at is not None
