"""How one agent's memory answers when a call does not say otherwise."""

from __future__ import annotations

from waypost.model.base import Value
from waypost.model.context import ContextProfile, UseRecord
from waypost.model.recall import HalfLife, Weights

DEFAULT_HALF_LIFE_HOURS = 24.0


class AgentProfile(Value):
    """An agent's own settings: what a score is made of, and how contexts are put together.

    ``use`` is what was reported about its contexts; ``{}`` begins to learn anew.
    """

    weights: Weights = Weights()
    half_life_hours: HalfLife = DEFAULT_HALF_LIFE_HOURS
    context: ContextProfile = ContextProfile()
    use: UseRecord = UseRecord()
