"""The five factors of a score, each from 0 to 1, and their weighted mean. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from waypost.model import Weights

FREQUENT = 10
"""As many recalls as count as "often": more do not raise the factor further."""
TIED_TO_ERROR = 0.6
OTHER_STAGE = 0.5


@dataclass(frozen=True, slots=True)
class Moment:
    """The circumstances of a retrieval that its factors depend on."""

    now: datetime
    half_life_hours: float
    stage_id: str | None = None
    stage_type: str | None = None
    error_memory_ids: frozenset[str] = frozenset()


def recency(timestamp: datetime, moment: Moment) -> float:
    """Halves with every half-life; what lies in the future counts as now."""
    age_hours = max(0.0, (moment.now - timestamp).total_seconds() / 3600)
    return float(0.5 ** (age_hours / moment.half_life_hours))


def frequency(access_count: int) -> float:
    return min(access_count / FREQUENT, 1.0)


def stage(stage_id: str | None, relevance_map: dict[str, float], moment: Moment) -> float:
    if moment.stage_type is not None and moment.stage_type in relevance_map:
        return relevance_map[moment.stage_type]
    return 1.0 if stage_id is not None and stage_id == moment.stage_id else OTHER_STAGE


def criticality(memory_id: str, is_critical: bool, moment: Moment) -> float:
    if is_critical:
        return 1.0
    return TIED_TO_ERROR if memory_id in moment.error_memory_ids else 0.0


def score(values: tuple[float, float, float, float, float], weights: Weights) -> float:
    """The weighted mean of relevance, recency, frequency, stage and criticality, from 0 to 1."""
    relevance, recent, frequent, staged, critical = values
    total = (
        weights.relevance * relevance
        + weights.recency * recent
        + weights.frequency * frequent
        + weights.stage * staged
        + weights.criticality * critical
    )
    return total / weights.total
