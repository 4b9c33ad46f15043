"""Working memory: the latest entries of a task, close at hand.

A cache, never the only copy: every entry is a stored memory, and a working memory
that is empty, expired or unreachable is filled again from the database.
"""

from waypost.working.in_process import InProcessWorkingMemory
from waypost.working.port import LIFETIME_SECONDS, WorkingEntry, WorkingMemory, latest_within

__all__ = [
    "LIFETIME_SECONDS",
    "InProcessWorkingMemory",
    "WorkingEntry",
    "WorkingMemory",
    "latest_within",
    "working_memory",
]


def working_memory(redis_url: str | None = None) -> WorkingMemory:
    """Working memory shared through Redis when a URL is given, else of this process."""
    if redis_url is None:
        return InProcessWorkingMemory()
    from waypost.working.redis import RedisWorkingMemory

    return RedisWorkingMemory(redis_url)
