"""Methods on the agent's own profile: weights, half-life, contexts and what they learn."""

from __future__ import annotations

from waypost.memory import MemoryManager
from waypost.model.base import Value
from waypost.model.context import ContextEntry, LearnedSplit
from waypost.model.profile import AgentProfile
from waypost.service.caller import Scope
from waypost.service.rpc import Method, Registry


class GetProfileParams(Value):
    """Nothing to say."""


async def get_profile(memory: MemoryManager, params: GetProfileParams) -> AgentProfile:
    """This agent's own weights, half-life and way of putting contexts together."""
    return await memory.get_profile()


async def set_profile(memory: MemoryManager, params: AgentProfile) -> AgentProfile:
    """Change the parts of the profile that are given; the others stay."""
    given = {name: getattr(params, name) for name in params.model_fields_set}
    return await memory.set_profile(**given)


class ReportUseParams(Value):
    """The items of a context as they came, and the ids of those that were of use."""

    items: tuple[ContextEntry, ...]
    used: tuple[str, ...] = ()


async def report_context_use(memory: MemoryManager, params: ReportUseParams) -> LearnedSplit:
    """Say which entries of a context were of use; an agent that learns moves its tier shares."""
    return await memory.report_context_use(params.items, params.used)


class GetTierSplitParams(Value):
    """Nothing to say."""


async def get_tier_split(memory: MemoryManager, params: GetTierSplitParams) -> LearnedSplit:
    """How this agent's contexts divide their budget between tiers, and why."""
    return await memory.get_tier_split()


def register(registry: Registry) -> None:
    read, write = Scope.READ, Scope.WRITE
    for method in (
        Method("memory.get_profile", GetProfileParams, AgentProfile, read, get_profile),
        Method("memory.set_profile", AgentProfile, AgentProfile, write, set_profile),
        Method(
            "memory.report_context_use", ReportUseParams, LearnedSplit, write, report_context_use
        ),
        Method("memory.get_tier_split", GetTierSplitParams, LearnedSplit, read, get_tier_split),
    ):
        registry.add(method)
