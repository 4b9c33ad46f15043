"""Every method of the service, each a thin handler over ``MemoryManager``.

A handler takes the memory of the caller's agent, so it cannot name another one,
and parameters that are valid already. Its docstring is published by
``rpc.discover`` and in the reference.
"""

from __future__ import annotations

from waypost.service.discover import add_discover
from waypost.service.methods import content, errors, jobs, keeping, memories, profiles, tasks
from waypost.service.rpc import Registry


def build_registry() -> Registry:
    """The methods of a Waypost service."""
    registry = Registry()
    for group in (memories, tasks, errors, profiles, keeping, jobs, content):
        group.register(registry)
    add_discover(registry)
    return registry
