"""Agents on top of the memory: one to inherit from, one ready to run.

``MemoryEnabledAgent`` wraps your own way of answering: context before, storage after.
``AgentLoop`` runs a chat model with tools over the four channels conversation, payload, context
and memory.
"""

from waypost.agents.configuration import AgentConfiguration
from waypost.agents.enabled import Answer, MemoryEnabledAgent
from waypost.agents.loop import AgentLoop
from waypost.agents.outcome import RunResult
from waypost.agents.tools import RunContext, Tool, tool

__all__ = [
    "AgentConfiguration",
    "AgentLoop",
    "Answer",
    "MemoryEnabledAgent",
    "RunContext",
    "RunResult",
    "Tool",
    "tool",
]
