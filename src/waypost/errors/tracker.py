"""ErrorTracker: errors recorded, recalled and recognised, for one agent.

Each error is a row with its signature and, unless it is tied to a memory that exists, a memory of
its own, so that retrieval finds it and raises what it touches. Patterns are computed from the rows
when asked; nothing about them is stored that could grow stale.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeVar

from pydantic import Field, model_validator

from waypost.errors.patterns import find_patterns
from waypost.errors.severity import SEVERE, severity_of
from waypost.errors.signature import VERSION, signature_of
from waypost.exceptions import InvalidInput
from waypost.model import (
    CallerId,
    ErrorPattern,
    ErrorRecord,
    MintedId,
    NewMemory,
    Origin,
    Stored,
    UtcTime,
    new_id,
    utc_now,
)
from waypost.model.base import Value
from waypost.model.memory import Unit
from waypost.model.storable import check_content, refuse_unstorable
from waypost.model.vocabulary import ERROR
from waypost.store import errors as rows
from waypost.store import hierarchy
from waypost.store import memories as repository
from waypost.store.database import Database

_MOST_SEVERE = 10

T = TypeVar("T")
Remember = Callable[[NewMemory], Awaitable[Stored]]


class NewError(Value):
    """One failure as the caller tells it; severity, signature and stage are worked out."""

    error_type: str = Field(min_length=1, max_length=64)
    error_description: str = Field(min_length=1)
    context_when_occurred: str = ""
    task_id: CallerId | None = None
    stage_id: MintedId | None = None
    memory_id: MintedId | None = None
    tool: str | None = Field(default=None, max_length=255)
    action: str | None = None
    recovery_action: str | None = None
    resolved: bool | None = None
    error_severity: Unit | None = None
    recorded_at: UtcTime | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_text(self) -> NewError:
        check_content(self.error_description)
        refuse_unstorable(self)
        return self


class ErrorTracker:
    """The errors of one agent."""

    def __init__(
        self,
        database: Database,
        agent_id: str,
        remember: Remember,
        *,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._database = database
        self._agent_id = agent_id
        self._remember = remember
        self._clock = clock

    async def record(self, new: NewError) -> ErrorRecord:
        """Record an error; it is durable, and findable as a memory, when this returns."""
        stage_id = await self._read(_check_place, new)
        error_id = new_id()
        memory_id = new.memory_id or await self._memory_for(new, error_id, stage_id)
        error = ErrorRecord(
            **new.model_dump(exclude={"error_severity", "memory_id", "stage_id", "recorded_at"}),
            error_id=error_id,
            agent_id=self._agent_id,
            stage_id=stage_id,
            memory_id=memory_id,
            error_severity=self._severity(new),
            signature=signature_of(
                new.error_type, new.error_description, tool=new.tool, action=new.action
            ),
            signature_version=VERSION,
            recorded_at=new.recorded_at or self._clock(),
        )
        await self._database.write(rows.add, error, agent=self._agent_id)
        return error

    async def resolve(
        self, error_id: str, recovery_action: str | None = None, *, resolved: bool = True
    ) -> ErrorRecord:
        """Say what was done about an error, and whether that ended it."""
        values: dict[str, Any] = {"resolved": resolved}
        if recovery_action is not None:
            if not recovery_action.strip():
                raise InvalidInput("the recovery is empty; say in a few words what was done")
            values["recovery_action"] = recovery_action
        return await self._database.write(
            rows.change, self._agent_id, error_id, values, agent=self._agent_id
        )

    async def history(
        self, task_id: str | None = None, lookback_stages: int | None = None
    ) -> list[ErrorRecord]:
        """The errors of a task (of its last stages), or of the agent, oldest first."""
        if task_id is None:
            return await self._read(rows.recent)
        return await self._read(rows.of_task, task_id, lookback_stages)

    async def detect_patterns(
        self, task_id: str | None = None, lookback_stages: int | None = 3
    ) -> list[ErrorPattern]:
        """Patterns in a task's last stages, or among all errors of the agent."""
        return await self._read(_detect, task_id, lookback_stages)

    async def open_patterns(self, task_id: str | None = None) -> list[ErrorPattern]:
        """The unresolved patterns a task should know of: its own and its project's."""
        found = find_patterns(await self._read(rows.in_scope, task_id))
        return [pattern for pattern in found if pattern.is_open]

    async def severe_errors(self, task_id: str | None) -> list[ErrorRecord]:
        """A task's severe errors that nothing has resolved, newest first, one of each signature."""
        if task_id is None:
            return []
        errors = await self._read(rows.of_task, task_id)
        last = {error.signature: error for error in errors}
        severe = [e for e in last.values() if e.error_severity >= SEVERE and not e.resolved]
        return sorted(severe, key=lambda error: error.recorded_at, reverse=True)[:_MOST_SEVERE]

    def calculate_error_severity(
        self, error_type: str, description: str, context: str = ""
    ) -> float:
        """The severity an error gets when none is given."""
        return severity_of(error_type, description, context)

    def _severity(self, new: NewError) -> float:
        if new.error_severity is not None:
            return new.error_severity
        return severity_of(
            new.error_type,
            new.error_description,
            new.context_when_occurred,
            recovered=new.resolved is True,
        )

    async def _memory_for(self, new: NewError, error_id: str, stage_id: str | None) -> str:
        where = f" in {new.tool}" if new.tool else ""
        parts = (
            f"{new.error_type} error{where}: {new.error_description}",
            f"When: {new.context_when_occurred}" if new.context_when_occurred else "",
            f"Recovery: {new.recovery_action}" if new.recovery_action else "",
        )
        stored = await self._remember(
            NewMemory(
                content="\n".join(part for part in parts if part),
                kind=ERROR,
                task_id=new.task_id,
                stage_id=stage_id,
                timestamp=new.recorded_at,
                origin=Origin.AGENT,
                importance=self._severity(new),
                success=False,
                idempotency_key=f"error:{error_id}",
            )
        )
        return stored.memory_id

    async def _read(self, work: Callable[..., T], *args: Any) -> T:
        return await self._database.read(work, self._agent_id, *args, agent=self._agent_id)


def _check_place(connection: Any, agent_id: str, new: NewError) -> str | None:
    """Refuse ids that are not this agent's; the stage is the one given or the task's open one."""
    if new.memory_id is not None:
        repository.get(connection, agent_id, new.memory_id)
    if new.stage_id is not None:
        return hierarchy.get_stage(connection, agent_id, new.stage_id).stage_id
    if new.task_id is None:
        return None
    current = hierarchy.current_stage(connection, agent_id, new.task_id)
    return None if current is None else current.stage_id


def _detect(
    connection: Any, agent_id: str, task_id: str | None, lookback_stages: int | None
) -> list[ErrorPattern]:
    if task_id is None:
        return find_patterns(rows.recent(connection, agent_id))
    errors = rows.of_task(connection, agent_id, task_id, lookback_stages)
    known = rows.in_scope(connection, agent_id, task_id)
    return find_patterns(errors, known)
