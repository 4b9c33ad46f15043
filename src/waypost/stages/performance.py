"""Figures of a task, computed from what is stored; nothing here is estimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from waypost.model import ErrorRecord, StageMemory
from waypost.stages.compressor import Compression


def performance(
    stages: Sequence[StageMemory],
    errors: Sequence[ErrorRecord],
    spent: Mapping[str, float],
    summary: Compression,
) -> dict[str, float]:
    """What a task took so far: work, errors, compression and its cost."""
    done = [stage for stage in stages if not stage.is_open]
    memories = sum(len(stage.raw_memory_refs) for stage in done)
    original = sum(stage.original_tokens for stage in done)
    return {
        "stages_completed": float(len(done)),
        "memories": float(memories),
        "errors": float(len(errors)),
        "error_rate": len(errors) / memories if memories else 0.0,
        "errors_resolved": float(sum(error.resolved is True for error in errors)),
        "original_tokens": float(original),
        "summary_tokens": float(summary.compressed_tokens),
        "compression_ratio": original / max(summary.compressed_tokens, 1),
        "information_retention": _weighted_retention(done),
        "compression_cost_usd": spent["cost_usd"],
        "reasoning_cost_usd": spent["reasoning_cost_usd"],
    }


def _weighted_retention(stages: Sequence[StageMemory]) -> float:
    """The retention of the stages, each weighted by how much it had to keep."""
    total = sum(stage.original_tokens for stage in stages)
    if not total:
        return 1.0
    return sum(stage.information_retention * stage.original_tokens for stage in stages) / total
