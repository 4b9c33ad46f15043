"""The rows of background jobs: asked for, taken, done.

A row is the job: what to do, for whom, how far it is, what came of it. Which worker
does it and when is decided elsewhere (``waypost.jobs``). There is one unfinished job
for one subject: asking again gives the job that is there. Vectors that wait are rows
of the same table (kind ``embed``), taken in batches; see ``vectors``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from waypost.exceptions import NotFound
from waypost.model import new_id
from waypost.model.jobs import Job, JobKind, JobStatus
from waypost.store.tables import jobs
from waypost.store.vectors import EMBED

KEPT = timedelta(days=1)
"""How long a job that ended can be asked about."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a worker needs to do a job."""

    number: int
    agent_id: str
    kind: JobKind
    payload: dict[str, Any]
    attempts: int


def ask(
    connection: Connection,
    agent_id: str,
    kind: JobKind,
    subject: str,
    payload: dict[str, Any],
    now: datetime,
) -> Job:
    """Ask for a job; one that is asked for already, and has not ended, is that job."""
    same = (jobs.c.agent_id == agent_id, jobs.c.kind == kind.value, jobs.c.subject == subject)
    forget_ended(connection, now)
    connection.execute(delete(jobs).where(*same, jobs.c.finished_at.is_not(None)))
    known = connection.execute(select(jobs).where(*same)).first()
    if known is not None:
        return _job(known)
    ticket = new_id()
    row = {
        "ticket": ticket,
        "agent_id": agent_id,
        "kind": kind.value,
        "subject": subject,
        "payload": payload,
        "status": JobStatus.WAITING.value,
        "attempts": 0,
        "run_after": now,
        "created_at": now,
    }
    connection.execute(insert(jobs), row)
    return get(connection, agent_id, ticket)


def forget_ended(connection: Connection, now: datetime) -> None:
    connection.execute(delete(jobs).where(jobs.c.finished_at < now - KEPT))


def get(connection: Connection, agent_id: str, job_id: str) -> Job:
    row = connection.execute(
        select(jobs).where(jobs.c.agent_id == agent_id, jobs.c.ticket == job_id)
    ).first()
    if row is None:
        raise NotFound(f"there is no job {job_id}; those that ended are kept for a day")
    return _job(row)


def latest(connection: Connection, agent_id: str, limit: int) -> list[Job]:
    """The agent's jobs, newest first."""
    statement = (
        select(jobs)
        .where(jobs.c.agent_id == agent_id, jobs.c.kind != EMBED)
        .order_by(jobs.c.job_id.desc())
        .limit(limit)
    )
    return [_job(row) for row in connection.execute(statement)]


def _job(row: Row[Any]) -> Job:
    return Job(
        job_id=row.ticket,
        agent_id=row.agent_id,
        kind=JobKind(row.kind),
        status=JobStatus(row.status),
        attempts=row.attempts,
        error=row.last_error,
        result=row.result,
        created_at=row.created_at,
        finished_at=row.finished_at,
    )


def unfinished(connection: Connection) -> int:
    """How many jobs, vectors apart, have not ended."""
    statement = select(func.count()).where(jobs.c.kind != EMBED, jobs.c.finished_at.is_(None))
    return connection.execute(statement).scalar_one()


def next_due(connection: Connection, now: datetime) -> int | None:
    """The number of the oldest job that is due: never begun, put off, or left by its worker."""
    statement = (
        select(jobs.c.job_id)
        .where(jobs.c.kind != EMBED, jobs.c.finished_at.is_(None), jobs.c.run_after <= now)
        .order_by(jobs.c.job_id)
        .limit(1)
    )
    return connection.execute(statement).scalar()


def begin(
    connection: Connection, number: int, now: datetime, lease: timedelta, due: bool
) -> Ticket | None:
    """Take a job for the length of a lease; None when it has ended or is no longer there.

    With ``due`` it must be due, too: of two workers that saw it, one gets it.
    """
    ready = [jobs.c.run_after <= now] if due else []
    row = connection.execute(
        update(jobs)
        .where(jobs.c.job_id == number, jobs.c.finished_at.is_(None), *ready)
        .values(status=JobStatus.RUNNING.value, attempts=jobs.c.attempts + 1, run_after=now + lease)
        .returning(jobs.c.agent_id, jobs.c.kind, jobs.c.payload, jobs.c.attempts)
    ).first()
    if row is None:
        return None
    return Ticket(number, row.agent_id, JobKind(row.kind), row.payload, row.attempts)


def extend(connection: Connection, number: int, until: datetime) -> None:
    """Keep a job that takes longer than its lease."""
    running = jobs.c.status == JobStatus.RUNNING.value
    connection.execute(update(jobs).where(jobs.c.job_id == number, running).values(run_after=until))


def put_off(connection: Connection, number: int, until: datetime, error: str | None) -> None:
    """Give a job back, to be tried again."""
    values: dict[str, Any] = {"status": JobStatus.WAITING.value, "run_after": until}
    if error is not None:
        values["last_error"] = error[:500]
    connection.execute(update(jobs).where(jobs.c.job_id == number).values(values))


def end(
    connection: Connection,
    number: int,
    now: datetime,
    result: dict[str, Any] | None,
    error: str | None,
) -> None:
    """Record what came of a job; what was asked for is forgotten."""
    status = JobStatus.DONE if error is None else JobStatus.FAILED
    connection.execute(
        update(jobs)
        .where(jobs.c.job_id == number)
        .values(
            status=status.value,
            result=result,
            last_error=None if error is None else error[:500],
            payload={},
            finished_at=now,
        )
    )
