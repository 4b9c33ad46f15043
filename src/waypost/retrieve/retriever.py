"""The read path: understand the query, find candidates, score, explain.

All database work of one retrieval happens in one read transaction. What cannot
run (the embedder, the index) degrades the answer and is named in its reasons;
an error of the database itself is reported the same way, with no memories. Bad
input is the only thing that raises.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from waypost.embed.port import Embedder
from waypost.encode.entities import find_entities
from waypost.encode.terms import analyze
from waypost.exceptions import DimensionMismatch, ProviderError, StorageError
from waypost.filters import Condition
from waypost.model import MemoryRecord, Recall, RecalledMemory, RecallRequest, TimeRange
from waypost.model.profile import AgentProfile
from waypost.retrieve.access_tracker import AccessTracker
from waypost.retrieve.holding import conflicts as conflicts_among
from waypost.retrieve.holding import held_at, still_holds, wants_superseded
from waypost.retrieve.linked import add_linked
from waypost.retrieve.scope import condition
from waypost.retrieve.scoring import Asked, Scored, rank
from waypost.retrieve.search import Search, SearchQuery
from waypost.retrieve.time_words import find_time_range
from waypost.store import feed, memories
from waypost.store.database import Database
from waypost.validation import checked_time

logger = logging.getLogger(__name__)

QUERY_PATIENCE_SECONDS = 10.0
"""A question waits no longer than this for its vector, retries included."""
CANDIDATES_PER_RESULT = 2
FEWEST_CANDIDATES = 20
"""Among so many of the most relevant the other factors choose: were there more, a recent
remark that has little to do with the question would come before its answer."""


@dataclass(frozen=True, slots=True)
class _Found:
    memories: tuple[RecalledMemory, ...] = ()
    row_ids: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()


class Retriever:
    """Retrieves for one agent."""

    def __init__(
        self,
        database: Database,
        search: Search,
        embedder: Embedder,
        agent_id: str,
        *,
        tracker: AccessTracker,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._search = search
        self._embedder = embedder
        self._agent_id = agent_id
        self._tracker = tracker
        self._clock = clock

    async def retrieve(
        self, request: RecallRequest, *, now: datetime | None = None, track_access: bool = True
    ) -> Recall:
        """Answer a request, asked at the moment ``now`` (the present, when not given)."""
        moment = self._clock() if now is None else checked_time(now)
        where = condition(request)
        mention = None if request.time_range else find_time_range(request.query, moment)
        hint = mention.range if mention else None
        vector, reasons = await self._embed(request.query)
        query = _search_query(request, vector, where, hint, moment)
        try:
            found = await self._database.read(
                self._find, query, request, moment, agent=self._agent_id
            )
        except StorageError as error:
            logger.warning("retrieval failed: %s", error)
            found = _Found(reasons=(f"the memory could not be read: {error}",))
        if track_access and found.row_ids:
            self._tracker.note(self._agent_id, found.row_ids, moment)
        reasons = (*reasons, *found.reasons)
        return Recall.model_construct(
            memories=found.memories,
            degraded=bool(reasons),
            reasons=reasons,
            time_range=request.time_range or hint,
        )

    async def _embed(self, query: str) -> tuple[NDArray[np.float32] | None, tuple[str, ...]]:
        try:
            async with asyncio.timeout(QUERY_PATIENCE_SECONDS):
                return await self._embedder.embed_query(query), ()
        except (ProviderError, DimensionMismatch) as error:
            problem = str(error)
        except TimeoutError:
            problem = f"no answer within {QUERY_PATIENCE_SECONDS:g} seconds"
        logger.warning("searching by words only: %s", problem)
        return None, (f"searched by words only, the embedder failed: {problem}",)

    def _find(
        self, connection: Connection, query: SearchQuery, request: RecallRequest, now: datetime
    ) -> _Found:
        state = feed.state(connection, self._agent_id)
        request = _with_profile(request, state.profile)
        reasons = self._vector_reasons(state, query)
        if reasons:
            query = replace(query, vector=None)
        candidates = self._search.candidates(connection, self._agent_id, query, state.newest_change)
        ranked = rank(connection, self._agent_id, candidates, request, Asked(now, state.has_errors))
        if state.has_links:
            ranked = add_linked(connection, self._agent_id, ranked, request, Asked(now, True))
        ranked = ranked[: request.k]
        row_ids = [item.row_id for item in ranked]
        records = memories.by_rows(connection, self._agent_id, row_ids, linked=state.has_links)
        conflicts = _conflicts(connection, self._agent_id, ranked, request, now)
        recalled = tuple(
            RecalledMemory.model_construct(
                memory=records[item.row_id],
                score=item.score,
                why=item.why(_note(records[item.row_id], item.memory_id in conflicts)),
                conflicts_with=conflicts.get(item.memory_id, ()),
            )
            for item in ranked
            if item.row_id in records
        )
        return _Found(recalled, tuple(row_ids), reasons)

    def _vector_reasons(self, state: feed.AgentState, query: SearchQuery) -> tuple[str, ...]:
        """Say when the stored vectors are of another embedder than the query's."""
        active = state.embedder
        if query.vector is None or active is None or active == self._embedder.name:
            return ()
        return (
            f"searched by words only: the memories were moved to embedder {active!r}; "
            "open the database with it",
        )


def _with_profile(request: RecallRequest, profile: AgentProfile | None) -> RecallRequest:
    """The request with the agent's own weights and half-life where it names none."""
    if profile is None:
        return request
    own = {
        "weights": request.weights or profile.weights,
        "half_life_hours": request.half_life_hours or profile.half_life_hours,
    }
    return request.model_copy(update=own)


def _search_query(
    request: RecallRequest,
    vector: NDArray[np.float32] | None,
    where: Condition | None,
    hint: TimeRange | None,
    now: datetime,
) -> SearchQuery:
    return SearchQuery(
        text=request.query,
        terms=tuple(analyze(request.query)),
        vector=vector,
        entities=tuple(find_entities(request.query)),
        limit=max(FEWEST_CANDIDATES, CANDIDATES_PER_RESULT * request.k),
        now=now,
        where=where,
        include_inactive=wants_superseded(request),
        hint=hint,
    )


def _note(memory: MemoryRecord, contradicted: bool) -> str | None:
    """What a reader must know before believing a memory."""
    if memory.superseded_by is not None and memory.valid_to is not None:
        return f"superseded on {memory.valid_to:%Y-%m-%d %H:%M} UTC"
    if contradicted:
        return "contradicted by another statement that also holds"
    return None if memory.valid_to is None else f"valid until {memory.valid_to:%Y-%m-%d %H:%M} UTC"


def _conflicts(
    connection: Connection,
    agent_id: str,
    ranked: Sequence[Scored],
    request: RecallRequest,
    now: datetime,
) -> dict[str, tuple[str, ...]]:
    """What contradicts a recalled statement, also when it was not recalled itself."""
    keys = [item.fact_key for item in ranked if item.fact_key is not None]
    if not keys:
        return {}
    holding = still_holds(now) if request.as_of is None else held_at(request.as_of)
    return conflicts_among(connection, agent_id, keys, holding)
