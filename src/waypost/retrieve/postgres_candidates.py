"""Searching a large agent inside PostgreSQL.

The rarest words of the query nominate rows through the term index, the vector
nominates rows through pgvector, and the neighbours of both come along so that the
recipe can weigh them. What it must know of the whole agent (how many rows, how
long, how many hold a word) is counted in the database, bounded, and remembered
for a while: on a large agent it changes slowly.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Float,
    Text,
    bindparam,
    case,
    desc,
    literal,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from waypost.filters.sql import where_clause
from waypost.index.agent import rank_slice
from waypost.index.matching import Statistics
from waypost.index.rows import Candidates, Query
from waypost.retrieve.embedded import index_query, index_rows
from waypost.retrieve.holding import still_holds
from waypost.retrieve.search import SearchQuery
from waypost.store import feed
from waypost.store.memories import COLUMNS
from waypost.store.postgres_schema import TERMS
from waypost.store.tables import accesses, embeddings, memories

PER_ROUTE = 150
COMMON = 5_000
"""Words in more rows than this are not counted further and nominate nothing."""
REMEMBER_SECONDS = 600.0

_JOINED = memories.outerjoin(accesses, accesses.c.row_id == memories.c.row_id)
_TOTALS = text(
    "SELECT count(*), coalesce(sum(cardinality(string_to_array(index_terms, ' '))), 0), "
    "count(DISTINCT coalesce(run_id, task_id)) FROM memories WHERE agent_id = :agent_id"
)
_FREQUENCY = text(
    "SELECT count(*) FROM (SELECT 1 FROM memories WHERE agent_id = :agent_id "
    f"AND {TERMS} @> ARRAY[CAST(:term AS text)] LIMIT :most) AS counted"
).bindparams(bindparam("term", type_=Text))
_IN_RUN = "run_id = hit.run_id"
_IN_TASK = "hit.run_id IS NULL AND run_id IS NULL AND task_id = hit.task_id"
_BESIDE = """
        (SELECT row_id FROM memories WHERE agent_id = :agent_id AND {episode}
            AND (timestamp, row_id) < (hit.timestamp, hit.row_id)
            ORDER BY timestamp DESC, row_id DESC LIMIT 2)
        UNION ALL
        (SELECT row_id FROM memories WHERE agent_id = :agent_id AND {episode}
            AND (timestamp, row_id) > (hit.timestamp, hit.row_id)
            ORDER BY timestamp, row_id LIMIT 2)
"""
_NEIGHBOURS = text(
    f"""
    SELECT near.row_id FROM memories AS hit CROSS JOIN LATERAL (
        {_BESIDE.format(episode=_IN_RUN)} UNION ALL {_BESIDE.format(episode=_IN_TASK)}
    ) AS near WHERE hit.agent_id = :agent_id AND hit.row_id = ANY(:rows)
    """
)


@dataclass(frozen=True, slots=True)
class _Known:
    """The totals of an agent, and when they were counted."""

    rows: int
    terms: int
    episodes: int
    at: float


class DatabaseSearch:
    def __init__(self, embedder: str, dimension: int) -> None:
        self._embedder = embedder
        self._dimension = dimension
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def candidates(
        self, connection: Connection, agent_id: str, query: SearchQuery, newest_change: int
    ) -> Candidates:
        words = list(dict.fromkeys(query.terms))
        frequencies = {word: _frequency(connection, agent_id, word) for word in words}
        hits = {
            *_by_words(connection, agent_id, query, frequencies),
            *self._by_vector(connection, agent_id, query),
        }
        near = connection.execute(_NEIGHBOURS, {"agent_id": agent_id, "rows": list(hits)})
        rows = feed.rows(connection, agent_id, self._embedder, sorted(hits | set(near.scalars())))
        totals = self._totals(connection, agent_id)
        statistics = Statistics(
            rows=totals.rows,
            average_length=max(1.0, totals.terms / max(1, totals.rows)),
            average_episode_length=max(1.0, totals.terms / max(1, totals.episodes)),
            frequencies=frequencies,
        )
        return rank_slice(_query(query, hits), index_rows(rows, query.now), statistics)

    def forget(self, agent_id: str) -> None:
        with self._lock:
            self._known.pop(agent_id, None)

    def close(self) -> None:
        """Nothing is held open."""

    def _totals(self, connection: Connection, agent_id: str) -> _Known:
        with self._lock:
            known = self._known.get(agent_id)
        if known is None or time.monotonic() - known.at > REMEMBER_SECONDS:
            rows, terms, episodes = connection.execute(_TOTALS, {"agent_id": agent_id}).one()
            known = _Known(rows, int(terms), episodes, time.monotonic())
            with self._lock:
                self._known[agent_id] = known
        return known

    def _by_vector(
        self, connection: Connection, agent_id: str, query: SearchQuery
    ) -> Sequence[int]:
        if query.vector is None:
            return ()
        # The filter is applied after the index scan; iterating keeps it from coming up short.
        connection.execute(text("SET LOCAL hnsw.iterative_scan = strict_order"))
        statement = (
            select(embeddings.c.row_id)
            .select_from(_JOINED.join(embeddings, embeddings.c.row_id == memories.c.row_id))
            .where(
                embeddings.c.embedder == self._embedder,
                embeddings.c.agent_id == agent_id,
                *_wanted(query),
            )
            .order_by(_distance(query.vector, self._dimension))
            .limit(PER_ROUTE)
        )
        return list(connection.execute(statement).scalars())


def _distance(vector: NDArray[np.float32], dimension: int) -> ColumnElement[float]:
    """The cosine distance, spelled as the vector index is."""
    numbers = ",".join(map(str, np.asarray(vector, np.float16).tolist()))
    halves = literal_column(f"(embeddings.vector::halfvec({dimension}))", Float)
    wanted: ColumnElement[str] = literal_column(f"'[{numbers}]'::halfvec({dimension})")
    return halves.op("<=>", return_type=Float())(wanted)


def _frequency(connection: Connection, agent_id: str, word: str) -> int:
    values = {"agent_id": agent_id, "term": word, "most": COMMON + 1}
    return int(connection.execute(_FREQUENCY, values).scalar_one())


def _by_words(
    connection: Connection, agent_id: str, query: SearchQuery, frequencies: dict[str, int]
) -> Sequence[int]:
    """Rows that hold a telling word, those with the rarest words first."""
    telling = {word: n for word, n in frequencies.items() if 0 < n <= COMMON}
    if not telling:
        return ()
    weight: ColumnElement[float] = literal(0.0)
    for word, rows in telling.items():
        weight = weight + case((_holds("@>", [word]), 1.0 / rows), else_=0.0)
    statement = (
        select(memories.c.row_id)
        .select_from(_JOINED)
        .where(memories.c.agent_id == agent_id, _holds("&&", list(telling)), *_wanted(query))
        .order_by(desc(weight), memories.c.row_id)
        .limit(PER_ROUTE)
    )
    return list(connection.execute(statement).scalars())


def _holds(operator: str, words: list[str]) -> ColumnElement[bool]:
    """The terms of a memory against an array of words, as the term index knows them."""
    terms: ColumnElement[list[str]] = literal_column(
        TERMS.replace("index_terms", "memories.index_terms")
    )
    return terms.op(operator, is_comparison=True, return_type=Boolean())(
        literal(words, ARRAY(Text))
    )


def _wanted(query: SearchQuery) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if not query.include_inactive:
        conditions.append(still_holds(query.now))
    if query.where is not None:
        conditions.append(where_clause(query.where, COLUMNS, "postgresql"))
    return conditions


def _query(query: SearchQuery, hits: set[int]) -> Query:
    """Only nominated rows are ranked; their neighbours are there to lend them context."""
    return replace(index_query(query), allowed=np.array(sorted(hits), np.int64))
