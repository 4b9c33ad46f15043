"""A coding agent over a small repository: ``python -m examples.coding``.

A test fails; the agent finds out why, repairs the code in a working copy, and has the change read
by a sub-agent that may look at its content but not add to it. Its one mistake on the way is kept as
an error, and the run leaves a stage whose summary leads back to every step.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

from rich.console import Console

import waypost
from examples.coding.play import play
from examples.coding.tools import REPOSITORY, edit_file, list_files, read_file, run_tests
from examples.model import model
from examples.watching import Watched, open_console
from waypost import MemoryManager
from waypost.agents import AgentConfiguration, AgentLoop, RunResult
from waypost.content.sharing import Sharing

GOAL = (
    "A test of this repository fails. Find out why, repair the code, and have the change reviewed."
)
TASK = "till-shares"
PROGRAMMER = AgentConfiguration(
    name="programmer",
    instructions="You are a careful programmer. Read before you edit, change as little as you can, "
    "run the tests after every edit, and ask the reviewer before you answer.",
    sharing=Sharing.READ_ONLY,
)
REVIEWER = AgentConfiguration(
    name="reviewer", instructions="You review changes: read the code and say what is wrong with it."
)


async def main(console: Console, folder: Path) -> RunResult:
    copy = shutil.copytree(REPOSITORY, folder / "repository")
    async with waypost.open(folder / "memory.db") as engine, model(play) as chat:
        watched = Watched(chat, console)
        memory = engine.agent("programmer")
        reviewer = AgentLoop(
            Watched(chat, console, "reviewer,"), memory, tools=[read_file], configuration=REVIEWER
        )
        agent = AgentLoop(
            watched,
            memory,
            tools=[list_files, read_file, edit_file, run_tests],
            sub_agents={"reviewer": reviewer},
            configuration=PROGRAMMER,
        )
        watched.begin(GOAL)
        result = await agent.run(GOAL, context=copy, run_id="repair", task_id=TASK)
        watched.print_totals()
        await _print_memory(console, memory)
    return result


async def _print_memory(console: Console, memory: MemoryManager) -> None:
    """What stays when the conversation is gone."""
    console.print("[bold]what the memory keeps[/bold]")
    for run in await memory.runs.latest():
        below = f" for {run.parent_run_id}" if run.parent_run_id else ""
        console.print(f"  run {run.run_id}{below}: {run.steps} steps, {run.tokens_sent:,} tokens")
    for error in await memory.get_error_history():
        console.print(f"  error in {error.tool}: {error.error_description}")
    for stage in await memory.stages.list_stages(TASK):
        console.print(f"  stage {stage.stage_type.value}:")
        for line in stage.stage_summary.splitlines():
            console.print(f"    {line}", markup=False)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="waypost-coding-") as folder:
        asyncio.run(main(open_console(), Path(folder)))
