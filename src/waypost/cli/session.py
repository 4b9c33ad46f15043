"""Running one command against one agent's memory: open, work, close."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from waypost.engine import Engine
    from waypost.memory import MemoryManager

T = TypeVar("T")


def with_memory(
    work: Callable[[MemoryManager], Awaitable[T]],
    *,
    url: str | None = None,
    agent: str | None = None,
) -> T:
    """Run ``work`` on the memory that the options or else the settings name."""
    from waypost import settings

    name = agent or settings.load().agent
    return with_engine(lambda engine: work(engine.agent(name)), url=url)


def with_engine(work: Callable[[Engine], Awaitable[T]], *, url: str | None = None) -> T:
    """Run ``work`` on an open engine, and close it whatever happens."""
    from waypost import settings

    async def opened() -> T:
        async with settings.opening(settings.load(), url=url) as engine:
            return await work(engine)

    return asyncio.run(opened())
