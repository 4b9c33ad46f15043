"""Working memory in Redis, shared by the processes of one service.

Keys are ``memory:working:{agent}:{task}`` with both parts percent-encoded, so that
no id can reach into another agent's keys. Beside them ``memory:working-tasks:{agent}``
lists the tasks, which lets an agent be cleared without scanning the server.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

from waypost.exceptions import MissingExtra, StorageUnavailable
from waypost.working.port import LIFETIME_SECONDS, MOST_ENTRIES, WorkingEntry, latest_within

logger = logging.getLogger(__name__)


class RedisWorkingMemory:
    def __init__(self, url: str) -> None:
        try:
            import redis.asyncio as redis
            from redis.exceptions import RedisError
        except ModuleNotFoundError as error:
            raise MissingExtra(
                "working memory in Redis needs an extra: pip install 'waypost[redis]'"
            ) from error
        self._client: Any = redis.Redis.from_url(
            url, decode_responses=True, socket_timeout=2, socket_connect_timeout=2
        )
        self._failure = RedisError

    async def push(self, agent_id: str, task_id: str, entries: Sequence[WorkingEntry]) -> None:
        if not entries:
            return
        key, tasks = _key(agent_id, task_id), _tasks_key(agent_id)
        pipeline = self._client.pipeline(transaction=True)
        pipeline.rpush(key, *(entry.model_dump_json() for entry in entries))
        pipeline.ltrim(key, -MOST_ENTRIES, -1)
        pipeline.expire(key, LIFETIME_SECONDS)
        pipeline.sadd(tasks, task_id)
        pipeline.expire(tasks, 2 * LIFETIME_SECONDS)
        try:
            await pipeline.execute()
        except self._failure as error:
            logger.warning("working memory was not updated: %s", error)

    async def entries(self, agent_id: str, task_id: str) -> list[WorkingEntry] | None:
        try:
            stored = await self._client.lrange(_key(agent_id, task_id), 0, -1)
            found = [WorkingEntry.model_validate_json(text) for text in stored]
        except (self._failure, ValidationError) as error:
            logger.warning("working memory could not be read: %s", error)
            return None
        unique = {entry.memory_id: entry for entry in found}
        return latest_within(list(unique.values())) or None

    async def clear(self, agent_id: str, task_id: str | None = None) -> None:
        tasks = _tasks_key(agent_id)
        try:
            named = await self._client.smembers(tasks) if task_id is None else [task_id]
            keys = [_key(agent_id, name) for name in named]
            await self._client.delete(*keys, *([tasks] if task_id is None else []))
        except self._failure as error:
            raise StorageUnavailable(f"working memory could not be cleared: {error}") from error

    async def aclose(self) -> None:
        await self._client.aclose()


def _key(agent_id: str, task_id: str) -> str:
    return f"memory:working:{quote(agent_id, safe='')}:{quote(task_id, safe='')}"


def _tasks_key(agent_id: str) -> str:
    return f"memory:working-tasks:{quote(agent_id, safe='')}"
