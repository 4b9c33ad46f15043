"""Runs the tour: ``python -m waypost.demo``."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from rich.console import Console

from waypost.demo.story import NOW
from waypost.demo.tour import Tour
from waypost.engine import open as open_engine

WIDTH = 100


async def main() -> None:
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    with tempfile.TemporaryDirectory(prefix="waypost-demo-") as directory:
        async with open_engine(Path(directory) / "memory.db", clock=lambda: NOW) as engine:
            await Tour(console, engine.agent("planner")).run()


if __name__ == "__main__":
    asyncio.run(main())
