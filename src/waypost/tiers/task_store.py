"""The memory of one task: reasoning and tool outputs, by stage.

Scratch notes are for the task only. When it ends, what was marked is promoted
and the notes are archived; interactions recorded in the task are history of the agent
and stay.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection

from waypost.model import MemoryRecord, MemoryType, Origin, Stored, Tier
from waypost.model.vocabulary import REASONING, TOOL_OUTPUT
from waypost.store import memories
from waypost.tiers.promotion import MARK
from waypost.tiers.view import TierParts, TierView

_SCRATCH = {"type": MemoryType.WORKING.value}


class TaskMemoryStore(TierView):
    tier = Tier.TASK

    def __init__(self, parts: TierParts, task_id: str, *, project_id: str | None = None) -> None:
        place = {"task_id": task_id, "project_id": project_id}
        scope = {"tier": Tier.TASK.value, "task_id": task_id}
        if project_id is not None:
            scope["project_id"] = project_id
        super().__init__(parts, scope, place)
        self.task_id = task_id

    async def add_reasoning(self, text: str, stage_id: str | None = None) -> MemoryRecord:
        """Note a thought; without a stage it goes to the task's open one."""
        return await self._add(
            text,
            kind=REASONING,
            type=MemoryType.WORKING,
            stage_id=stage_id,
            tags=("task", REASONING),
            importance=0.5,
        )

    async def add_tool_output(
        self, tool_id: str, output: Any, stage_id: str | None = None
    ) -> MemoryRecord:
        """Note what a tool returned: text as it is, anything else as JSON, or else in words."""
        text = (
            output
            if isinstance(output, str)
            else json.dumps(output, ensure_ascii=False, default=str)
        )
        return await self._add(
            text or "(empty output)",
            kind=TOOL_OUTPUT,
            type=MemoryType.WORKING,
            stage_id=stage_id,
            tags=("task", "tool", tool_id),
            importance=0.7,
            origin=Origin.TOOL,
            metadata={"tool": tool_id},
        )

    async def get_stage_outputs(self, stage_id: str) -> list[MemoryRecord]:
        """Everything noted in one stage, oldest first."""
        return await self.query({"stage_id": stage_id}, limit=1000, order_by="-timestamp")

    async def mark_for_promotion(self, memory_id: str, marked: bool = True) -> None:
        """Have a memory promoted when the task ends."""
        await self._require(memory_id)
        agent = self._parts.agent_id
        await self._parts.database.write(
            _mark, agent, memory_id, marked, self._parts.clock(), agent=agent
        )

    async def promote_marked(self) -> list[Stored]:
        """Promote what was marked; doing it twice promotes nothing twice."""
        marked = await self.query({f"metadata.{MARK}": True}, limit=10_000, order_by="-timestamp")
        return [await self._parts.promoter.promote(memory.memory_id) for memory in marked]

    async def clear(self) -> int:
        """Archive the task's scratch notes; how many there were."""
        return await self._archive_all(_SCRATCH, "task ended")

    async def end(self) -> int:
        """Promote what was marked, then clear. Safe to repeat after an interruption."""
        await self.promote_marked()
        return await self.clear()


def _mark(connection: Connection, agent_id: str, memory_id: str, marked: bool, now: Any) -> None:
    memory = memories.get(connection, agent_id, memory_id)
    metadata = {key: value for key, value in memory.metadata.items() if key != MARK}
    if marked:
        metadata[MARK] = True
    memories.change(
        connection, agent_id, memory_id, {"metadata": metadata}, now=now, operation="mark"
    )
