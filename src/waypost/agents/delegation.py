"""Asking another agent: a sub-agent's run on shared, read-only or isolated content.

What an isolated sub-agent may not see is decided here and in ``Session.long_term``: it gets neither
the content of the run that asks nor, when both have the same memory, what that memory holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.agents.outcome import RunResult
from waypost.agents.tools import Outcome
from waypost.content.sharing import SharedContent, Sharing, share
from waypost.model import new_id

if TYPE_CHECKING:
    from waypost.agents.loop import AgentLoop
    from waypost.agents.session import Session

_ASK = "ask_"


def schemas(sub_agents: dict[str, AgentLoop]) -> list[dict[str, Any]]:
    """One tool per sub-agent."""
    return [_schema(name, loop) for name, loop in sub_agents.items()]


def asked(call_name: str, sub_agents: dict[str, AgentLoop]) -> str | None:
    """Which sub-agent a call asks, if any."""
    name = call_name.removeprefix(_ASK)
    return name if call_name.startswith(_ASK) and name in sub_agents else None


async def ask(parent: Session, name: str, task: Any) -> Outcome:
    """Let a sub-agent do a part of the work; its answer is the result."""
    if not isinstance(task, str) or not task.strip():
        return Outcome(f"Error: say what {name} is to do, in the argument task", True)
    run_id = new_id()
    content = await _shared(parent, run_id)
    result = await parent.agent.sub_agents[name].run_for(parent, task, content, run_id=run_id)
    parent.tokens_in += result.tokens_in
    parent.tokens_out += result.tokens_out
    parent.degraded += result.degraded
    if parent.settings.share_memory_with_sub_agents:
        parent.merged |= await content.merge()
    else:
        await content.drop()
    return _outcome(name, result)


async def _shared(parent: Session, run_id: str) -> SharedContent:
    settings = parent.settings
    if not settings.share_memory_with_sub_agents:
        return await share(parent.content, Sharing.ISOLATED, run_id)
    isolated = settings.sharing is Sharing.ISOLATED
    passed = await parent.content.snapshot() if isolated else None
    return await share(parent.content, settings.sharing, run_id, snapshot=passed)


def _outcome(name: str, result: RunResult) -> Outcome:
    if result.succeeded:
        return Outcome(result.answer)
    reasons = "; ".join(result.problems) or result.stopped.value
    return Outcome(f"Error: {name} did not finish ({reasons}). {result.answer}", True)


def _schema(name: str, loop: AgentLoop) -> dict[str, Any]:
    purpose = loop.configuration.instructions.split("\n")[0][:200]
    parameters = {
        "type": "object",
        "properties": {"task": {"type": "string", "description": "What it is to do, in full."}},
        "required": ["task"],
        "additionalProperties": False,
    }
    description = f"Ask the agent {name} to do a part of the work. It says of itself: {purpose}"
    function = {"name": _ASK + name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}
