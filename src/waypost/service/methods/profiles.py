"""Methods on the agent's own profile: weights, half-life and contexts."""

from __future__ import annotations

from waypost.memory import MemoryManager
from waypost.model.base import Value
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


def register(registry: Registry) -> None:
    for method in (
        Method("memory.get_profile", GetProfileParams, AgentProfile, Scope.READ, get_profile),
        Method("memory.set_profile", AgentProfile, AgentProfile, Scope.WRITE, set_profile),
    ):
        registry.add(method)
