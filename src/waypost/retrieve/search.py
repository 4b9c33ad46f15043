"""The port between retrieval and an index: a query in, candidates with reasons out.

``candidates`` runs inside a read transaction, in a worker thread. It sees every
write that was committed before the transaction began, also by other processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from waypost.filters import Condition
from waypost.index.rows import Candidates
from waypost.model import TimeRange


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to look for. ``hint`` is a time read from the words: it favours, it does not exclude."""

    text: str
    terms: tuple[str, ...]
    vector: NDArray[np.float32] | None
    entities: tuple[str, ...]
    limit: int
    now: datetime
    where: Condition | None = None
    include_inactive: bool = False
    hint: TimeRange | None = None


class Search(Protocol):
    def candidates(
        self, connection: Connection, agent_id: str, query: SearchQuery, newest_change: int
    ) -> Candidates:
        """The memories most relevant to the query, as of the agent's newest change."""
        ...

    def forget(self, agent_id: str) -> None:
        """Drop whatever is held of an agent outside the database, files included."""

    def close(self) -> None: ...
