"""The background jobs of one agent on a server: which method is which call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waypost.client.connection import Client
from waypost.client.operation import Operation, remote
from waypost.jobs.asking import AgentJobs, wait_for
from waypost.model.jobs import Job
from waypost.twins import methods_of

_LIBRARY = methods_of(AgentJobs)


def _erase(*, source: str | None = None) -> dict[str, Any]:
    return {"everything": True} if source is None else {"source": source}


class RemoteJobs:
    """The background jobs of one agent, on a server. The methods are those of ``AgentJobs``."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._common: Mapping[str, Any] = {}

    complete_stage = remote(_LIBRARY.complete_stage, Operation("jobs.complete_stage"))
    prune = remote(_LIBRARY.prune, Operation("jobs.prune"))
    erase = remote(_LIBRARY.erase, Operation("jobs.erase", params=_erase))
    get = remote(_LIBRARY.get, Operation("jobs.get"))
    latest = remote(_LIBRARY.latest, Operation("jobs.latest", "jobs"))

    async def wait(self, job_id: str, *, seconds: float = 60.0) -> Job:
        """The job when it has ended; TimedOut when it has not within ``seconds``."""
        return await wait_for(self.get, job_id, seconds)
