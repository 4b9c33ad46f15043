"""The in-process index of an agent's memories: text, vectors and episodes, ranked as one."""

from __future__ import annotations

from waypost.index.agent import AgentIndex, rank_slice
from waypost.index.matching import Statistics
from waypost.index.reading import entity_term
from waypost.index.rows import Candidates, IndexRow, Query, RouteScores

__all__ = [
    "AgentIndex",
    "Candidates",
    "IndexRow",
    "Query",
    "RouteScores",
    "Statistics",
    "entity_term",
    "rank_slice",
]
