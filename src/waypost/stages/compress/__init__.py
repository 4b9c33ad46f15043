"""Compression with proof: typed facts in, a short text out, and a measure of what it kept."""

from __future__ import annotations

from waypost.stages.compress.local import (
    STAGE_TARGET,
    TASK_TARGET,
    Compressed,
    Target,
    compress,
)
from waypost.stages.compress.retention import (
    RetentionReport,
    measure,
    validate_compression_quality,
)
from waypost.stages.compress.sources import Source, from_memories, from_text

__all__ = [
    "STAGE_TARGET",
    "TASK_TARGET",
    "Compressed",
    "RetentionReport",
    "Source",
    "Target",
    "compress",
    "from_memories",
    "from_text",
    "measure",
    "validate_compression_quality",
]
