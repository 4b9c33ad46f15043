"""Methods that move memory between tiers and keep it bounded: promote, prune, restore, erase."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints, model_validator

from waypost.memory import MemoryManager
from waypost.model import CallerId, MemoryType, MintedId, Tier
from waypost.model.base import Value
from waypost.model.retention import ErasureReport, Strategy
from waypost.service.caller import Scope
from waypost.service.methods.memories import StoreResult
from waypost.service.rpc import Method, Registry


class PromoteParams(Value):
    memory_id: MintedId
    to: Tier | None = None
    project_id: CallerId | None = None
    actor: CallerId | None = None


async def promote(memory: MemoryManager, params: PromoteParams) -> StoreResult:
    """Copy a memory one tier up: from its task to its project, from a project to global.

    The copy keeps its provenance and a link to the original, which is not touched.
    """
    stored = await memory.promote(
        params.memory_id, params.to, project_id=params.project_id, actor=params.actor
    )
    return StoreResult.of(stored)


class UndoPromotionParams(Value):
    promoted_id: MintedId
    actor: CallerId | None = None


class UndoPromotionResult(Value):
    success: bool = True


async def undo_promotion(memory: MemoryManager, params: UndoPromotionParams) -> UndoPromotionResult:
    """Take a promoted copy back; the original is not touched."""
    await memory.undo_promotion(params.promoted_id, actor=params.actor)
    return UndoPromotionResult()


class PruneScope(Value):
    """``memory_layer`` is a memory type; without it every type is considered."""

    memory_layer: MemoryType | None = None
    strategy: Strategy = Strategy.LEAST_RELEVANT
    tier: Tier | None = None
    where: dict[str, Any] | None = None
    max_items: Annotated[int, Field(ge=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    share: Annotated[float, Field(gt=0, le=1)] | None = None

    def options(self) -> dict[str, Any]:
        """All but the layer and the strategy."""
        return {name: value for name, value in vars(self).items() if name not in _POSITIONAL}


_POSITIONAL = ("memory_layer", "strategy")


class PruneParams(PruneScope):
    dry_run: bool = False


class PruneResult(Value):
    pruned_count: int
    memory_ids: tuple[MintedId, ...] = ()
    considered: int = 0
    tokens: int = 0
    passes: int = 0
    skipped: int = 0
    strategy: Strategy = Strategy.LEAST_RELEVANT
    dry_run: bool = False


async def prune(memory: MemoryManager, params: PruneParams) -> PruneResult:
    """Archive the least missed fifth of a layer, or what is over the given capacity.

    Everything is archived and verified before it is deleted, and can be restored. With
    ``dry_run`` the answer says what would go.
    """
    report = await memory.prune(params.memory_layer, params.strategy, **params.options())
    fields = {name: getattr(report, name) for name in PruneResult.model_fields}
    return PruneResult.model_construct(**fields)


class RestoreParams(Value):
    """Some by id, some by a filter, or, when ``all`` is true, everything in the archive."""

    memory_ids: tuple[MintedId, ...] | None = None
    where: dict[str, Any] | None = None
    all: bool = False

    @model_validator(mode="after")
    def _one_of_them(self) -> RestoreParams:
        chosen = [self.memory_ids is not None, self.where is not None, self.all]
        if sum(chosen) != 1:
            raise ValueError("give memory_ids, or where, or all")
        return self


class RestoreResult(Value):
    restored_count: int
    memory_ids: tuple[MintedId, ...] = ()
    present: int = 0


async def restore(memory: MemoryManager, params: RestoreParams) -> RestoreResult:
    """Bring archived memories back, exactly as they were."""
    ids = None if params.memory_ids is None else list(params.memory_ids)
    report = await memory.restore(ids, where=params.where)
    return RestoreResult.model_construct(
        restored_count=report.restored_count, memory_ids=report.memory_ids, present=report.present
    )


class EraseTarget(Value):
    """One source by its name or, when ``everything`` is true, all of this agent."""

    source: Annotated[str, StringConstraints(min_length=1)] | None = None
    everything: bool = False

    @model_validator(mode="after")
    def _one_of_them(self) -> EraseTarget:
        if (self.source is not None) == self.everything:
            raise ValueError("give source, or everything")
        return self


class EraseParams(EraseTarget):
    dry_run: bool = False


async def erase(memory: MemoryManager, params: EraseParams) -> ErasureReport:
    """Destroy all that came from one source, or everything of this agent.

    Rows, vectors, text index, caches, summaries and archive: nothing of it can be brought
    back. The answer counts what was touched or, with ``dry_run``, what would be.
    """
    return await memory.erase(source=params.source, dry_run=params.dry_run)


def register(registry: Registry) -> None:
    write, admin = Scope.WRITE, Scope.ADMIN
    for method in (
        Method("memory.promote", PromoteParams, StoreResult, write, promote),
        Method(
            "memory.undo_promotion", UndoPromotionParams, UndoPromotionResult, write, undo_promotion
        ),
        Method("memory.prune", PruneParams, PruneResult, admin, prune),
        Method("memory.restore", RestoreParams, RestoreResult, admin, restore),
        Method("memory.erase", EraseParams, ErasureReport, admin, erase),
    ):
        registry.add(method)
