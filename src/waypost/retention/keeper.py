"""Pruning, the archive and erasure of one agent, as the facade offers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from waypost.exceptions import InvalidInput
from waypost.model.retention import (
    Capacity,
    ErasureReport,
    PruneReport,
    RestoreReport,
    RetentionPolicy,
    Strategy,
)
from waypost.model.vocabulary import MemoryType, Tier
from waypost.retention.archive import Archive, Progress, no_progress
from waypost.retention.erasure import AgentIndex, Eraser
from waypost.retention.objects import ObjectStore
from waypost.retention.pruner import Pruner
from waypost.store.database import Database
from waypost.validation import checked, checked_id
from waypost.working import WorkingMemory


@dataclass(frozen=True, slots=True)
class Keeper:
    archive: Archive
    pruner: Pruner
    eraser: Eraser

    async def prune(
        self,
        memory_layer: MemoryType | str | None = None,
        strategy: Strategy | str = Strategy.LEAST_RELEVANT,
        *,
        tier: Tier | str | None = None,
        where: Mapping[str, Any] | None = None,
        max_items: int | None = None,
        max_tokens: int | None = None,
        share: float | None = None,
        dry_run: bool = False,
        progress: Progress = no_progress,
    ) -> PruneReport:
        """Archive the least missed fifth of a layer, or all that is over the given capacity."""
        limited = max_items is not None or max_tokens is not None
        limits = {"max_items": max_items, "max_tokens": max_tokens}
        capacity = checked(Capacity, limits) if limited else None
        if share is not None and not 0 < share <= 1:
            raise InvalidInput(f"share is a part of the memories, above 0 and at most 1: {share}")
        return await self.pruner.prune(
            _scope(memory_layer, tier, where),
            strategy=_member(Strategy, strategy, "strategy"),
            capacity=capacity,
            share=share,
            dry_run=dry_run,
            progress=progress,
        )

    async def restore(
        self,
        memory_ids: Sequence[str] | str | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        progress: Progress = no_progress,
    ) -> RestoreReport:
        """Bring back one memory, several, those that match a filter, or all."""
        ids = [memory_ids] if isinstance(memory_ids, str) else memory_ids
        if ids is not None and where is not None:
            raise InvalidInput("restore takes ids or a filter, not both")
        wanted = None if ids is None else [checked_id(one) for one in ids]
        return await self.archive.restore(wanted, where=where, progress=progress)

    async def erase(
        self,
        *,
        source: str | None = None,
        dry_run: bool = False,
        progress: Progress = no_progress,
    ) -> ErasureReport:
        """Destroy everything of one source, or, without one, everything of the agent."""
        if source is None:
            return await self.eraser.erase_all(dry_run=dry_run, progress=progress)
        if not source.strip():
            raise InvalidInput("source is empty; name the source whose memories are to be erased")
        return await self.eraser.erase_source(source, dry_run=dry_run, progress=progress)


def _scope(
    memory_layer: MemoryType | str | None, tier: Tier | str | None, where: Mapping[str, Any] | None
) -> dict[str, Any]:
    scope: list[Mapping[str, Any]] = [where] if where else []
    if memory_layer is not None:
        scope.append({"type": _member(MemoryType, memory_layer, "memory_layer").value})
    if tier is not None:
        scope.append({"tier": _member(Tier, tier, "tier").value})
    return {"$and": scope} if scope else {}


def _member(vocabulary: Any, value: Any, name: str) -> Any:
    try:
        return vocabulary(value)
    except ValueError:
        known = ", ".join(member.value for member in vocabulary)
        raise InvalidInput(f"{name} is one of {known}, not {value!r}") from None


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the keepers of all agents of an engine share."""

    objects: ObjectStore
    working: WorkingMemory
    policy: RetentionPolicy

    def keeper(
        self,
        database: Database,
        agent_id: str,
        *,
        index: AgentIndex,
        clock: Callable[[], datetime],
    ) -> Keeper:
        archive = Archive(database, self.objects, agent_id, clock=clock)
        return Keeper(
            archive=archive,
            pruner=Pruner(database, archive, agent_id, policy=self.policy),
            eraser=Eraser(
                database,
                self.objects,
                agent_id,
                index=index,
                clear_working=self.working.clear,
                clock=clock,
            ),
        )
