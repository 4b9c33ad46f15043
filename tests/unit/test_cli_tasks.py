"""Following a task on the command line: start, stages, summaries, the tree, and back up."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import waypost as library
from tests.command_line import CommandLine
from waypost.model import LinkKind, MemoryLink

LOG = "\n".join(f"2026-03-01 10:00:{i % 60:02} INFO copied chunk {i}" for i in range(120))


@pytest.fixture
def memory_url(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


@pytest.fixture
def worked(waypost: CommandLine, memory_url: str) -> CommandLine:
    waypost("task", "start", "Move billing", "--id", "move", "--constraint", "no downtime")
    waypost("task", "stage", "move", "planning")
    waypost("remember", "We decided to use logical replication.", "--task", "move")
    waypost("remember", "Never lock the table invoices.", "--task", "move", "--critical", "ledger")
    asyncio.run(add_log(memory_url))
    return waypost


async def add_log(url: str) -> None:
    """A tool result that cites a content item, as an agent's run would leave it."""
    async with library.open(url) as engine:
        memory = engine.agent("default")
        cites = MemoryLink(kind=LinkKind.CITES, target_id="c-7f3a")
        await memory.add_memory(
            LOG, task_id="move", kind="tool_output", origin="tool", links=[cites]
        )


def test_a_task_is_shown_as_a_tree_down_to_its_content(worked: CommandLine) -> None:
    worked("task", "complete-stage", "move")
    out = worked("task", "show", "move").out
    places = [
        out.index(part)
        for part in (
            "Move billing", "no downtime", "planning", "decision We decided", "content c-7f3a",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    assert "pinned" in out
    assert "×120" in out


def test_the_tree_can_be_cut_at_stages_or_lines(worked: CommandLine) -> None:
    worked("task", "complete-stage", "move")
    stages = worked("task", "show", "move", "--depth", "1").out
    lines = worked("task", "show", "move", "--depth", "2").out
    assert "planning" in stages
    assert "We decided" not in stages
    assert "We decided" in lines
    assert "content c-7f3a" not in lines


def test_the_tree_as_json_has_ids_at_every_level(worked: CommandLine) -> None:
    worked("task", "complete-stage", "move")
    tree = worked("task", "show", "move", "--json").json
    (stage,) = tree["stages"]
    assert stage["memory_count"] == 3
    for branch in stage["lines"]:
        assert {leaf["memory_id"] for leaf in branch["memories"]} == set(
            branch["line"]["source_ids"]
        )


def test_an_open_stage_shows_its_memories(worked: CommandLine) -> None:
    out = worked("task", "show", "move").out
    assert "3 memories, open" in out
    assert "We decided to use logical replication." in out


def test_completing_prints_the_summary_and_how_it_came_out(worked: CommandLine) -> None:
    out = worked("task", "complete-stage", "move").out
    assert "We decided to use logical replication." in out
    assert "of the facts kept" in out
    ended = worked("task", "complete", "move", "--outcome", "moved on time")
    assert "is completed" in ended.out
    assert "moved on time" in worked("task", "show", "move").out


def test_a_memory_is_followed_up_to_the_lines_that_rest_on_it(worked: CommandLine) -> None:
    worked("task", "complete-stage", "move")
    tree = worked("task", "show", "move", "--json").json
    memory_id = tree["stages"][0]["lines"][0]["memories"][0]["memory_id"]
    out = worked("task", "where", memory_id).out
    assert "in the planning stage" in out
    assert "of task move: Move billing" in out
    assert "line: " in out


def test_progress_is_the_brief(worked: CommandLine) -> None:
    out = worked("task", "progress", "move").out
    assert "## Goal" in out
    assert "no downtime" in out


def test_errors_and_patterns_are_listed(worked: CommandLine, memory_url: str) -> None:
    async def fail_twice() -> None:
        async with library.open(memory_url) as engine:
            for seconds in (3, 4):
                await engine.agent("default").record_error(
                    "execution", f"timeout after {seconds} s", task_id="move", tool="copy"
                )

    asyncio.run(fail_twice())
    out = worked("task", "errors", "move").out
    assert out.count("open") == 2
    assert "Pattern, steady: 2 times in copy" in out
    assert len(worked("task", "errors", "move", "--json").json["patterns"]) == 1


def test_advice_names_its_evidence(worked: CommandLine) -> None:
    out = worked("task", "advise", "move").out
    assert "Advised: continue" in out
    assert "a task goes on by default" in out


def test_tasks_are_listed_and_costs_summed(worked: CommandLine) -> None:
    worked("task", "complete-stage", "move")
    assert "Move billing" in worked("task", "list").out
    assert worked("task", "costs", "move", "--json").json["compressions"] == 2
    assert "0.000000 USD" in worked("task", "costs").out


def test_starting_a_task_makes_the_memory(waypost: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "memory.db").unlink()
    assert waypost("task", "list").code != 0
    assert waypost("task", "start", "Move billing", "--id", "move").code == 0
    assert "Move billing" in waypost("task", "list").out


def test_mistakes_are_named(waypost: CommandLine) -> None:
    assert "no task 'none'" in waypost("task", "show", "none").err
    waypost("task", "start", "Move billing", "--id", "move")
    refused = waypost("task", "stage", "move", "dreaming")
    assert refused.code != 0
    assert "planning, execution, reflection, verification" in refused.err
