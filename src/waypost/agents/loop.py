"""A small run loop over four channels.

- *conversation*: what the model sees; results are shown once and then cited.
- *payload*: structured data that the run works on and returns; the model reads it at the start and
  changes it with ``update_payload``.
- *context*: the application's own objects; tools get them, the model never does.
- *memory*: the run's content behind the citations, and the agent's long-term memory.

Each step asks the model once and runs the tools it calls. The run ends with an answer or at a
limit. A failing memory never stops it; a failing tool is told to the model; a failing model ends it
with what there is. One loop may run many times, also side by side: all state is per run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from waypost.agents.configuration import AgentConfiguration
from waypost.agents.outcome import RunResult
from waypost.agents.session import Session
from waypost.agents.tools import RunContext, Tool
from waypost.chat.port import ChatModel
from waypost.content.sharing import SharedContent
from waypost.exceptions import InvalidInput
from waypost.memory import MemoryManager
from waypost.model import new_id


class AgentLoop:
    """An agent: a chat model, its tools, its memory and the agents it may ask."""

    def __init__(
        self,
        chat: ChatModel,
        memory: MemoryManager,
        *,
        tools: Sequence[Tool] = (),
        sub_agents: Mapping[str, AgentLoop] | None = None,
        configuration: AgentConfiguration | None = None,
    ) -> None:
        self.chat = chat
        self.memory = memory
        self.tools = {tool.name: tool for tool in tools}
        self.sub_agents = dict(sub_agents or {})
        self.configuration = configuration or AgentConfiguration()
        if not isinstance(memory, MemoryManager):
            raise InvalidInput(
                "AgentLoop records its runs and needs the memory of an open engine; "
                "with a client's memory use MemoryEnabledAgent"
            )
        if len(self.tools) != len(tools):
            raise InvalidInput("two tools have the same name")

    async def run(
        self,
        goal: str,
        *,
        payload: Mapping[str, Any] | None = None,
        context: Any = None,
        run_id: str | None = None,
        task_id: str | None = None,
        project_id: str | None = None,
    ) -> RunResult:
        """Work on a goal until there is an answer or a limit is reached."""
        if not goal.strip():
            raise InvalidInput("the goal is empty; say in a few words what to do")
        shared = RunContext(dict(payload or {}), context, run_id or new_id())
        session = Session(
            self,
            goal,
            shared,
            task_id=task_id,
            project_id=project_id,
            with_payload=payload is not None,
        )
        return await session.run()

    async def run_for(
        self, parent: Session, goal: str, content: SharedContent, *, run_id: str
    ) -> RunResult:
        """Work as the sub-agent of another run, on the content it was given."""
        shared = RunContext({}, parent.shared.context, run_id)
        session = Session(
            self,
            goal,
            shared,
            task_id=parent.task_id,
            project_id=parent.project_id,
            parent=parent,
            content=content,
        )
        return await session.run()
