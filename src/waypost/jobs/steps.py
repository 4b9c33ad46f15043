"""What each kind of job does. Doing it twice has the effect of doing it once.

Completing a stage again gives the same summary; pruning takes the memories that were
settled when it was asked for, and those that are gone stay gone; erasing again finds
nothing left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from waypost.jobs.performer import Step
from waypost.model.jobs import JobKind

if TYPE_CHECKING:
    from waypost.memory import MemoryManager

BATCH = 500


def steps_for(agent: Callable[[str], MemoryManager]) -> Mapping[JobKind, Step]:
    """The step of every kind of job, on the memory of the agent who asked."""

    async def complete_stage(agent_id: str, asked: dict[str, Any]) -> dict[str, Any]:
        stage = await agent(agent_id).complete_stage(asked["task_id"], asked["stage_id"])
        return stage.model_dump(
            mode="json",
            include={
                "stage_id", "original_tokens", "compressed_tokens", "compression_ratio",
                "information_retention",
            },
        )  # fmt: skip

    async def prune(agent_id: str, asked: dict[str, Any]) -> dict[str, Any]:
        memory, ids = agent(agent_id), asked["memory_ids"]
        left = 0
        for start in range(0, len(ids), BATCH):
            chosen = {"memory_id": {"$in": ids[start : start + BATCH]}}
            await memory.prune(where=chosen, share=1.0)
            left += await memory.count_memories(chosen)
        return {"pruned_count": len(ids) - left, "skipped": left}

    async def erase(agent_id: str, asked: dict[str, Any]) -> dict[str, Any]:
        report = await agent(agent_id).erase(source=asked["source"])
        return report.model_dump(mode="json", exclude={"agent_id", "source", "memory_ids"})

    return {
        JobKind.COMPLETE_STAGE: complete_stage,
        JobKind.PRUNE: prune,
        JobKind.ERASE: erase,
    }
