"""Search on the embedded database: an in-process index per agent, kept up to date.

Before each search the index reads what the agent's change feed holds beyond its
watermark, so it sees every committed write of every process. Indexes of large
agents are saved beside the database when it closes, as a cache: one that is
missing, damaged or of another embedder is built anew from the rows.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from waypost.encode.terms import QUESTION
from waypost.index import AgentIndex, Candidates, IndexRow, Query
from waypost.retrieve.search import SearchQuery
from waypost.store import feed, memories

logger = logging.getLogger(__name__)

WORTH_SAVING = 5_000
"""Smaller indexes are rebuilt from the rows faster than it takes to be careful with files."""
CHUNK = 500


@dataclass(slots=True)
class _Held:
    index: AgentIndex
    watermark: int = 0
    saved: int = -1
    lock: threading.Lock = field(default_factory=threading.Lock)


class EmbeddedSearch:
    """Holds the indexes of the agents that were searched."""

    def __init__(self, embedder: str, folder: Path | None) -> None:
        self._embedder = embedder
        self._folder = folder
        self._held: dict[str, _Held] = {}
        self._lock = threading.Lock()

    def candidates(
        self, connection: Connection, agent_id: str, query: SearchQuery, newest_change: int
    ) -> Candidates:
        held = self._hold(agent_id)
        with held.lock:
            self._catch_up(connection, agent_id, held, newest_change, query.now)
            index = held.index
        allowed = self._allowed(connection, agent_id, query)
        return index.candidates(replace(index_query(query), allowed=allowed))

    def forget(self, agent_id: str) -> None:
        with self._lock:
            self._held.pop(agent_id, None)
        if self._folder is not None:
            self._file(agent_id).unlink(missing_ok=True)

    def forget_all(self) -> None:
        with self._lock:
            self._held.clear()
        if self._folder is not None and self._folder.exists():
            shutil.rmtree(self._folder)

    def close(self) -> None:
        """Save what would be slow to rebuild."""
        for agent_id, held in self._held.items():
            if len(held.index) >= WORTH_SAVING and held.saved != held.watermark:
                self._save(agent_id, held)

    @staticmethod
    def _allowed(
        connection: Connection, agent_id: str, query: SearchQuery
    ) -> NDArray[np.int64] | None:
        if query.where is None:
            return None
        return np.array(memories.matching_rows(connection, agent_id, query.where), np.int64)

    def _hold(self, agent_id: str) -> _Held:
        with self._lock:
            held = self._held.get(agent_id)
            if held is None:
                held = self._held[agent_id] = self._open(agent_id)
            return held

    def _open(self, agent_id: str) -> _Held:
        path = None if self._folder is None else self._file(agent_id)
        if path is None or not path.exists():
            return _Held(AgentIndex())
        loaded = AgentIndex.load(path, embedder=self._embedder)
        if loaded is None:
            return _Held(AgentIndex())
        index, watermark = loaded
        return _Held(index, watermark, saved=watermark)

    def _catch_up(
        self, connection: Connection, agent_id: str, held: _Held, newest: int, now: datetime
    ) -> None:
        if newest == held.watermark:
            return
        if newest == 0:
            # No history at all: the agent was erased, perhaps by another process.
            held.index, held.watermark, held.saved = AgentIndex(), 0, 0
            return
        if newest < held.watermark:
            # A snapshot older than what another reader has applied sees enough already.
            return
        if held.watermark == 0:
            for portion in feed.everything(connection, agent_id, self._embedder):
                held.index.add(index_rows(portion, now))
        else:
            self._apply_changes(connection, agent_id, held, now)
        held.watermark = newest

    def _apply_changes(
        self, connection: Connection, agent_id: str, held: _Held, now: datetime
    ) -> None:
        changed = feed.changed_rows(connection, agent_id, held.watermark)
        for start in range(0, len(changed), CHUNK):
            part = changed[start : start + CHUNK]
            present = feed.rows(connection, agent_id, self._embedder, part)
            gone = set(part) - {row.row_id for row in present}
            if gone:
                held.index.remove(sorted(gone))
            held.index.add(index_rows(present, now))

    def _file(self, agent_id: str) -> Path:
        assert self._folder is not None
        name = hashlib.blake2b(agent_id.encode(), digest_size=16).hexdigest()
        return self._folder / f"{name}.index"

    def _save(self, agent_id: str, held: _Held) -> None:
        if self._folder is None:
            return
        try:
            self._folder.mkdir(exist_ok=True)
            held.index.save(self._file(agent_id), watermark=held.watermark, embedder=self._embedder)
            held.saved = held.watermark
        except OSError as error:
            logger.warning("the index was not saved and will be rebuilt: %s", error)


def index_query(query: SearchQuery) -> Query:
    """The query in the index's terms, without its filter."""
    hint = query.hint
    return Query(
        terms=query.terms,
        vector=query.vector,
        entities=query.entities,
        limit=query.limit,
        include_inactive=query.include_inactive,
        time_range=(
            hint.start.timestamp() if hint and hint.start else None,
            hint.end.timestamp() if hint and hint.end else None,
        ),
    )


def index_rows(rows: Iterable[feed.FeedRow], now: datetime) -> list[IndexRow]:
    """Rows for the index. What runs out later is dropped from the ranking when it has."""
    return [_index_row(row, now) for row in rows]


def _index_row(row: feed.FeedRow, now: datetime) -> IndexRow:
    terms = row.index_terms.split()
    asks = terms[-1:] == [QUESTION]
    return IndexRow(
        row_id=row.row_id,
        terms=terms[:-1] if asks else terms,
        timestamp=row.timestamp.timestamp(),
        vector=row.vector,
        episode=row.run_id or row.task_id,
        active=row.superseded_by is None and (row.valid_to is None or row.valid_to > now),
        asks=asks,
        entities=row.entities,
    )
