"""Asking for background jobs, and looking after them, for one agent.

    job = await memory.jobs.prune("episodic")
    job = await memory.jobs.wait(job.job_id)

What a job needs to know is settled when it is asked for, so that doing it twice has
the effect of doing it once: which stage, which memories, which source.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from waypost.exceptions import InvalidInput, TimedOut
from waypost.model import MemoryType
from waypost.model.jobs import Job, JobKind
from waypost.model.retention import Strategy
from waypost.retention.keeper import Keeper
from waypost.stages.tasks import TaskManager
from waypost.store import jobs
from waypost.store.database import Database
from waypost.validation import checked_id

FIRST_LOOK = 0.02
LONGEST_LOOK = 2.0


class AgentJobs:
    """The background jobs of one agent."""

    def __init__(
        self,
        database: Database,
        agent_id: str,
        *,
        tasks: TaskManager,
        keeper: Keeper,
        wake: Callable[[], None],
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._agent_id = agent_id
        self._tasks = tasks
        self._keeper = keeper
        self._wake = wake
        self._clock = clock

    async def complete_stage(self, task_id: str, stage_id: str | None = None) -> Job:
        """Have a stage (the open one by default) summarised and closed in the background."""
        wanted = None if stage_id is None else checked_id(stage_id)
        stage = await self._tasks.stage_to_complete(task_id, wanted)
        payload = {"task_id": task_id, "stage_id": stage.stage_id}
        return await self._ask(JobKind.COMPLETE_STAGE, stage.stage_id, payload)

    async def prune(
        self,
        memory_layer: MemoryType | str | None = None,
        strategy: Strategy | str = Strategy.LEAST_RELEVANT,
        **options: Any,
    ) -> Job:
        """Have the least missed fifth of a layer archived in the background.

        Which memories go is settled now. ``options``: tier, where, max_items, max_tokens, share.
        """
        refused = sorted({"dry_run", "progress"} & options.keys())
        if refused:
            raise InvalidInput(f"a background job takes no {refused[0]}")
        plan = await self._keeper.prune(memory_layer, strategy, dry_run=True, **options)
        return await self._ask(
            JobKind.PRUNE, _digest(sorted(plan.memory_ids)), {"memory_ids": list(plan.memory_ids)}
        )

    async def erase(self, *, source: str | None = None) -> Job:
        """Have one source, or without one everything of this agent, destroyed in the background."""
        if source is not None and not source.strip():
            raise InvalidInput("source is empty; name the source whose memories are to be erased")
        return await self._ask(JobKind.ERASE, _digest(source), {"source": source})

    async def get(self, job_id: str) -> Job:
        """One job by its id; NotFound when this agent has none, or it ended over a day ago."""
        return await self._database.read(
            jobs.get, self._agent_id, checked_id(job_id), agent=self._agent_id
        )

    async def latest(self, limit: int = 50) -> list[Job]:
        """This agent's jobs, newest first."""
        return await self._database.read(jobs.latest, self._agent_id, limit, agent=self._agent_id)

    async def wait(self, job_id: str, *, seconds: float = 60.0) -> Job:
        """The job when it has ended; TimedOut when it has not within ``seconds``."""
        return await wait_for(self.get, job_id, seconds)

    async def _ask(self, kind: JobKind, subject: str, payload: dict[str, Any]) -> Job:
        job = await self._database.write(
            jobs.ask, self._agent_id, kind, subject, payload, self._clock(), agent=self._agent_id
        )
        self._wake()
        return job


async def wait_for(get: Callable[[str], Awaitable[Job]], job_id: str, seconds: float) -> Job:
    """Look at a job, less and less often, until it has ended."""
    pause = FIRST_LOOK
    try:
        async with asyncio.timeout(seconds):
            while not (job := await get(job_id)).has_ended:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_LOOK)
            return job
    except TimeoutError:
        raise TimedOut(f"job {job_id} has not ended within {seconds:g} s") from None


def _digest(subject: Any) -> str:
    return hashlib.sha256(json.dumps(subject).encode()).hexdigest()
