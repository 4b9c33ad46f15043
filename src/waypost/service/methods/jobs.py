"""Methods that ask for work in the background, and look after it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from waypost.memory import MemoryManager
from waypost.model import MintedId
from waypost.model.base import Value
from waypost.model.jobs import Job
from waypost.service.caller import Scope
from waypost.service.methods.keeping import EraseTarget, PruneScope
from waypost.service.methods.tasks import CompleteStageParams
from waypost.service.rpc import Method, Registry


async def complete_stage(memory: MemoryManager, params: CompleteStageParams) -> Job:
    """Have a stage (the open one by default) summarised and closed in the background."""
    return await memory.jobs.complete_stage(params.task_id, params.stage_id)


async def prune(memory: MemoryManager, params: PruneScope) -> Job:
    """Have the least missed fifth of a layer archived in the background.

    Which memories go is settled by this call, not when the job runs.
    """
    return await memory.jobs.prune(params.memory_layer, params.strategy, **params.options())


async def erase(memory: MemoryManager, params: EraseTarget) -> Job:
    """Have one source, or everything of this agent, destroyed in the background."""
    return await memory.jobs.erase(source=params.source)


class JobParams(Value):
    job_id: MintedId


async def get(memory: MemoryManager, params: JobParams) -> Job:
    """How far a job is, and what came of it. Jobs that ended are kept for a day."""
    return await memory.jobs.get(params.job_id)


class LatestParams(Value):
    limit: Annotated[int, Field(ge=1, le=1000)] = 50


class LatestResult(Value):
    jobs: tuple[Job, ...]


async def latest(memory: MemoryManager, params: LatestParams) -> LatestResult:
    """This agent's jobs, newest first."""
    return LatestResult.model_construct(jobs=tuple(await memory.jobs.latest(params.limit)))


def register(registry: Registry) -> None:
    read, write, admin = Scope.READ, Scope.WRITE, Scope.ADMIN
    for method in (
        Method("jobs.complete_stage", CompleteStageParams, Job, write, complete_stage),
        Method("jobs.prune", PruneScope, Job, admin, prune),
        Method("jobs.erase", EraseTarget, Job, admin, erase),
        Method("jobs.get", JobParams, Job, read, get),
        Method("jobs.latest", LatestParams, LatestResult, read, latest),
    ):
        registry.add(method)
