"""Vectors of texts that were paid for, kept in the database, each agent's apart.

A cache may lose entries, so a database that cannot be read or written here is a
warning, not an error. Entries older than ``KEPT`` go when new ones come; all of an
agent's go when one of its memories is deleted, because a vector gives its text away
and digests do not say which memory an entry belonged to.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, insert, select

from waypost.exceptions import StorageError
from waypost.store.database import Database
from waypost.store.tables import embedding_cache

if TYPE_CHECKING:
    from waypost.embed.port import Vectors

logger = logging.getLogger(__name__)

KEPT = timedelta(days=30)
CHUNK = 500


class DatabaseEmbeddingCache:
    """The ``EmbeddingCache`` of one agent."""

    def __init__(self, database: Database, agent_id: str, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._agent_id = agent_id
        self._clock = clock

    async def get_many(self, name: str, digests: Sequence[str]) -> Mapping[str, Vectors]:
        try:
            return await self._database.read(
                known, self._agent_id, name, digests, agent=self._agent_id
            )
        except StorageError as error:
            logger.warning("the embedding cache was not read: %s", error)
            return {}

    async def set_many(self, name: str, vectors: Mapping[str, Vectors]) -> None:
        try:
            await self._database.write(
                keep, self._agent_id, name, vectors, self._clock(), agent=self._agent_id
            )
        except StorageError as error:
            logger.warning("the embedding cache was not written: %s", error)


def known(
    connection: Connection, agent_id: str, name: str, digests: Sequence[str]
) -> dict[str, Vectors]:
    found: dict[str, Vectors] = {}
    for start in range(0, len(digests), CHUNK):
        statement = select(embedding_cache.c.digest, embedding_cache.c.vector).where(
            embedding_cache.c.agent_id == agent_id,
            embedding_cache.c.embedder == name,
            embedding_cache.c.digest.in_(digests[start : start + CHUNK]),
        )
        found.update((row[0], row[1]) for row in connection.execute(statement))
    return found


def keep(
    connection: Connection,
    agent_id: str,
    name: str,
    vectors: Mapping[str, Vectors],
    now: datetime,
) -> None:
    """Add the vectors that are not there yet, and drop those that are too old."""
    own = embedding_cache.c.agent_id == agent_id
    connection.execute(
        delete(embedding_cache).where(own, embedding_cache.c.created_at < now - KEPT)
    )
    there = known(connection, agent_id, name, list(vectors))
    rows = [
        {"agent_id": agent_id, "embedder": name, "digest": digest, "vector": vector,
         "created_at": now}
        for digest, vector in vectors.items()
        if digest not in there
    ]  # fmt: skip
    if rows:
        connection.execute(insert(embedding_cache), rows)
