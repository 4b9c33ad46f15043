"""How an agent is set up."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from waypost.content.attempts import MEMORY_SECONDS
from waypost.content.compaction.by_model import COMPACTION_PROMPT
from waypost.content.policy import Policy
from waypost.content.sharing import Sharing
from waypost.exceptions import InvalidInput
from waypost.model import StageType


@dataclass(frozen=True)
class AgentConfiguration:
    """One agent's settings.

    ``enable_memory``: results go to the content store and are shown once, the memory tools are
    offered, and long-term memory gives context before and keeps the outcome after; off, the agent
    runs as if there were none. ``share_memory_with_sub_agents``: they see this run's content and
    long-term memory; off, they are isolated. ``use_compaction_llm``: the chat model writes the
    citations, with ``compaction_prompt``; off, the plugins do. ``sharing`` says how content is
    shared when it is. ``stage`` is opened when a run belongs to a task that has no open one, and
    completed when the run ends (None: the run leaves stages alone). A tool may take
    ``tool_seconds``, and the memory ``memory_seconds`` for each thing it is asked.
    """

    name: str = "agent"
    instructions: str = "You are a careful assistant. Use the tools; answer when you are sure."
    enable_memory: bool = True
    share_memory_with_sub_agents: bool = True
    sharing: Sharing = Sharing.SHARED
    use_compaction_llm: bool = False
    compaction_prompt: str = COMPACTION_PROMPT
    policy: Policy = field(default_factory=Policy)
    max_steps: int = 20
    max_tokens: int | None = None
    reply_tokens: int = 2000
    context_tokens: int = 1500
    temperature: float = 0.0
    stage: StageType | None = StageType.EXECUTION
    tool_seconds: float = 120.0
    memory_seconds: float = MEMORY_SECONDS

    def __post_init__(self) -> None:
        for name in ("max_steps", "reply_tokens", "context_tokens", "max_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidInput(f"{name} is at least 1, not {value}")
        for name in ("tool_seconds", "memory_seconds"):
            if getattr(self, name) <= 0:
                raise InvalidInput(f"{name} is more than 0, not {getattr(self, name)}")
        for name, kind in (("sharing", Sharing), ("stage", StageType)):
            object.__setattr__(self, name, _member(kind, name, getattr(self, name)))

    def settings(self) -> dict[str, Any]:
        """What is recorded with a run."""
        return {
            "name": self.name,
            "enable_memory": self.enable_memory,
            "share_memory_with_sub_agents": self.share_memory_with_sub_agents,
            "use_compaction_llm": self.use_compaction_llm,
            "max_steps": self.max_steps,
            "max_tokens": self.max_tokens,
        }


def _member(kind: type[StrEnum], name: str, value: Any) -> Any:
    """The member of an enumeration that a setting names; the plain word will do."""
    if value is None and kind is StageType:
        return None
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidInput(f"{name}: {value!r} is none of {known}") from None
