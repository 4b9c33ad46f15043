"""Search on PostgreSQL: middling agents in process, large ones in the database.

Up to ``IN_PROCESS_ROWS`` memories an agent is searched as on the embedded database,
by an index in this process that follows the agent's change feed. Beyond that the
index would be too large to hold in every server: pgvector and the term index
nominate candidates, and the same recipe ranks them with the statistics of the
whole agent.
"""

from __future__ import annotations

import threading

from sqlalchemy import Connection, text

from waypost.index.rows import Candidates
from waypost.retrieve.embedded import EmbeddedSearch
from waypost.retrieve.postgres_candidates import DatabaseSearch
from waypost.retrieve.search import Search, SearchQuery

IN_PROCESS_ROWS = 50_000

_AT_LEAST = text(
    "SELECT count(*) FROM "
    "(SELECT 1 FROM memories WHERE agent_id = :agent_id LIMIT :most) AS counted"
)


class PostgresSearch:
    def __init__(
        self, embedder: str, dimension: int, *, in_process_rows: int | None = None
    ) -> None:
        self._in_process = EmbeddedSearch(embedder, folder=None)
        self._in_database = DatabaseSearch(embedder, dimension)
        self._limit = IN_PROCESS_ROWS if in_process_rows is None else in_process_rows
        self._large: set[str] = set()
        self._counted_at: dict[str, int] = {}
        self._lock = threading.Lock()

    def candidates(
        self, connection: Connection, agent_id: str, query: SearchQuery, newest_change: int
    ) -> Candidates:
        search: Search = self._in_process
        if self._is_large(connection, agent_id, newest_change):
            search = self._in_database
        return search.candidates(connection, agent_id, query, newest_change)

    def forget(self, agent_id: str) -> None:
        self._in_process.forget(agent_id)
        self._in_database.forget(agent_id)
        with self._lock:
            self._large.discard(agent_id)
            self._counted_at.pop(agent_id, None)

    def close(self) -> None:
        """Nothing is kept in files here."""

    def _is_large(self, connection: Connection, agent_id: str, newest_change: int) -> bool:
        """Count when first asked and again after many changes; counting stops at the limit."""
        with self._lock:
            if agent_id in self._large:
                return True
            counted_at = self._counted_at.get(agent_id)
        if counted_at is not None and newest_change - counted_at < self._limit // 10:
            return False
        values = {"agent_id": agent_id, "most": self._limit + 1}
        large = bool(connection.execute(_AT_LEAST, values).scalar_one() > self._limit)
        with self._lock:
            self._counted_at[agent_id] = newest_change
            if large:
                self._large.add(agent_id)
        if large:
            self._in_process.forget(agent_id)
        return large
