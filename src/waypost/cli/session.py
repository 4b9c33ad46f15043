"""Running one command against one agent's memory: open, work, close."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
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
    creates: bool = False,
) -> T:
    """Run ``work`` on the memory that the options or else the settings name.

    Only a command that has something to store creates a memory that is not there.
    """
    from waypost import settings

    configured = settings.load()
    if not creates:
        refuse_missing(url or configured.url)
    name = agent or configured.agent
    return with_engine(lambda engine: work(engine.agent(name)), url=url)


def refuse_missing(url: str) -> None:
    """A file that does not exist is a typing mistake, or the very beginning."""
    from waypost.exceptions import NotFound

    if is_missing_file(url):
        raise NotFound(f"there is no memory at {url} yet; `waypost remember` makes one")


def is_missing_file(url: str) -> bool:
    path = url.removeprefix("sqlite:///")
    if "://" in path or path == ":memory:":
        return False
    place = Path(path).expanduser()
    return place.parent.is_dir() and not place.exists()


def with_engine(work: Callable[[Engine], Awaitable[T]], *, url: str | None = None) -> T:
    """Run ``work`` on an open engine, and close it whatever happens."""
    from waypost import settings

    async def opened() -> T:
        async with settings.opening(settings.load(), url=url) as engine:
            return await work(engine)

    return asyncio.run(opened())
