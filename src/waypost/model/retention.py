"""Keeping memory bounded: capacities and strategies, and the reports of what was done."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from waypost.model.base import Value
from waypost.model.ids import MintedId
from waypost.model.vocabulary import MemoryType, Tier


class Strategy(StrEnum):
    """Which memories go first."""

    LEAST_RELEVANT = "least_relevant"
    OLDEST_FIRST = "oldest_first"
    FREQUENCY_BASED = "frequency_based"
    LEAST_IMPORTANT = "least_important"


class Capacity(Value):
    """The most that may be kept of one type, one tier, or one type in one tier."""

    type: MemoryType | None = None
    tier: Tier | None = None
    max_items: Annotated[int, Field(ge=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    strategy: Strategy = Strategy.LEAST_RELEVANT

    @model_validator(mode="after")
    def _limits_something(self) -> Capacity:
        if self.max_items is None and self.max_tokens is None:
            raise ValueError("a capacity needs max_items or max_tokens")
        return self


class RetentionPolicy(Value):
    """Capacities that are enforced after each write; none of them by default.

    ``share`` is the part of the memories in question that one pass archives.
    Critical memories are never archived by a pass.
    """

    capacities: tuple[Capacity, ...] = ()
    share: Annotated[float, Field(gt=0, le=1)] = 0.2

    @classmethod
    def standard(cls) -> RetentionPolicy:
        """Working memory of 4,000 tokens, 50 episodes, everything else unbounded."""
        return cls(
            capacities=(
                Capacity(type=MemoryType.WORKING, max_tokens=4000, strategy=Strategy.OLDEST_FIRST),
                Capacity(type=MemoryType.EPISODIC, max_items=50),
            )
        )


class PruneReport(Value):
    """What a pruning did, or, as a dry run, would do."""

    memory_ids: tuple[MintedId, ...] = ()
    considered: int = 0
    tokens: int = 0
    passes: int = 0
    skipped: int = 0
    strategy: Strategy = Strategy.LEAST_RELEVANT
    archive: str = ""
    dry_run: bool = False

    @property
    def pruned_count(self) -> int:
        return len(self.memory_ids)


class RestoreReport(Value):
    """What came back from the archive; ``present`` counts what had never left or is back."""

    memory_ids: tuple[MintedId, ...] = ()
    present: int = 0
    dry_run: bool = False

    @property
    def restored_count(self) -> int:
        return len(self.memory_ids)


class ErasureReport(Value):
    """Everything that an erasure touched or, as a dry run, would touch. None of it comes back.

    ``facts_reopened`` had been replaced by erased memories only and hold again.
    ``storage_compacted`` says that the text is in no file of the database any more: it is
    False while another process reads the file, and always on a database server, whose
    files are its own affair.
    """

    agent_id: str
    source: str | None = None
    memory_ids: tuple[MintedId, ...] = ()
    rows: Mapping[str, int] = Field(default_factory=dict)
    summaries_rewritten: int = 0
    runs_erased: int = 0
    facts_reopened: int = 0
    archive_objects_deleted: int = 0
    archive_objects_rewritten: int = 0
    index_dropped: bool = False
    working_memory_cleared: bool = False
    storage_compacted: bool = False
    dry_run: bool = False
