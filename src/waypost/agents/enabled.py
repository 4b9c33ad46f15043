"""An agent with a memory around it: context before, storage after, errors recorded.

Inherit and write ``process_query``; call ``answer``. The memory is a help, not a condition: when
it cannot give context or keep the exchange, the agent still answers, and ``Answer.degraded`` says
what was missing. Its own failure is recorded as an error and raised to the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from waypost.content.attempts import MEMORY_SECONDS, attempt
from waypost.memory import MemoryManager
from waypost.model import Interaction


@dataclass(frozen=True)
class Answer:
    """What the agent said. ``memory_id`` is the stored exchange, None when it was not stored."""

    response: str
    context: str
    memory_id: str | None = None
    degraded: tuple[str, ...] = ()


class MemoryEnabledAgent:
    """Override ``process_query``; everything else is done."""

    def __init__(
        self,
        memory: MemoryManager,
        *,
        task_id: str | None = None,
        project_id: str | None = None,
        context_tokens: int = 2000,
        memory_seconds: float = MEMORY_SECONDS,
    ) -> None:
        self.memory = memory
        self.task_id = task_id
        self.project_id = project_id
        self.context_tokens = context_tokens
        self.memory_seconds = memory_seconds

    async def process_query(self, query: str, context: str) -> str | Interaction:
        """Answer a query, given what the memory holds about it.

        Return the response, or a whole ``Interaction`` to also keep actions and success.
        """
        raise NotImplementedError("write process_query in your own agent")

    async def answer(self, query: str, **details: Any) -> Answer:
        """Answer with memory. ``details`` are stored with the exchange: tags, metadata, …."""
        degraded: list[str] = []
        context = await self._context(query, degraded)
        try:
            produced = await self.process_query(query, context)
        except Exception as error:
            await self._record_error(query, error)
            raise
        interaction = self._interaction(query, produced, details)
        memory_id = await self._store(interaction, degraded)
        response = interaction.response or interaction.outcome or ""
        return Answer(response, context, memory_id, tuple(degraded))

    def _interaction(
        self, query: str, produced: str | Interaction, details: dict[str, Any]
    ) -> Interaction:
        place = {"task_id": self.task_id, "project_id": self.project_id}
        if isinstance(produced, Interaction):
            missing = {key: value for key, value in (place | details).items() if value is not None}
            kept = {key: missing[key] for key in missing if not getattr(produced, key, None)}
            return produced.model_copy(update=kept)
        return Interaction(query=query, response=produced, **(place | details))

    async def _context(self, query: str, degraded: list[str]) -> str:
        package = await attempt(
            self.memory.get_relevant_context(
                query, self.task_id, self.context_tokens, project_id=self.project_id
            ),
            degraded,
            "no context",
            seconds=self.memory_seconds,
        )
        if package is None:
            return ""
        if package.degraded:
            degraded += [f"partial context: {reason}" for reason in package.reasons]
        return package.text

    async def _store(self, interaction: Interaction, degraded: list[str]) -> str | None:
        adding = self.memory.add_interaction(interaction)
        stored = await attempt(adding, degraded, "not stored", seconds=self.memory_seconds)
        return stored.memory_id if stored else None

    async def _record_error(self, query: str, error: Exception) -> None:
        """Keep the failure; a memory that fails as well must not hide the first error."""
        recording = record_failure(self.memory, error, doing=query, task_id=self.task_id)
        await attempt(recording, [], "error not recorded", seconds=self.memory_seconds)


async def record_failure(
    memory: MemoryManager,
    error: Exception | str,
    *,
    doing: str,
    tool: str | None = None,
    task_id: str | None = None,
) -> None:
    """Keep a failure as an error of the agent, with what it was doing."""
    named = isinstance(error, Exception)
    await memory.record_error(
        type(error).__name__[:64] if named else "tool_error",
        str(error).strip()[:10_000] or "failed without a message",
        tool=tool,
        task_id=task_id,
        context_when_occurred=doing[:2000],
    )
