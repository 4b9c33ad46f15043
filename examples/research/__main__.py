"""A research agent over local pages: ``python -m examples.research``.

It answers a question that no single page answers. Every page is shown to the model once and cited
from then on; when it needs a detail of a page that it has read before, it opens the page again with
a question. A second run is asked something related and finds the answer in the memory of the first.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from rich.console import Console

import waypost
from examples.model import model
from examples.research.play import play
from examples.research.tools import PAGES, search_pages, visit_page
from examples.watching import Watched, open_console
from waypost.agents import AgentConfiguration, AgentLoop, RunResult

QUESTION = (
    "Which light of the Skarv coast lost its lens in the storm of 1911, who made the new one, and "
    "how many years had the old lens served?"
)
LATER = "What do we know about the maker of the lens that Hollow Rock light has today?"
INSTRUCTIONS = """\
You are a careful researcher. Work from the pages alone: search, read, and check every figure on the
page it comes from. When a result is only cited, open it again with a question instead of guessing.
Put what you find into the payload, then answer in one or two sentences."""


async def main(console: Console, database: Path) -> tuple[RunResult, RunResult]:
    settings = AgentConfiguration(name="researcher", instructions=INSTRUCTIONS)
    async with waypost.open(database) as engine, model(play) as chat:
        watched = Watched(chat, console)
        agent = AgentLoop(
            watched,
            engine.agent("researcher"),
            tools=[search_pages, visit_page],
            configuration=settings,
        )
        watched.begin(QUESTION)
        blank = {"light": None, "maker": None, "years": None}
        first = await agent.run(QUESTION, payload=blank, context=PAGES, run_id="research")
        watched.print_totals()
        console.print(f"payload: {first.payload}\n")
        watched.begin(LATER)
        second = await agent.run(LATER, context=PAGES)
        console.print("\nanswered from memory, without opening a page\n")
    return first, second


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="waypost-research-") as folder:
        asyncio.run(main(open_console(), Path(folder) / "memory.db"))
