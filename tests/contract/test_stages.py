"""Tasks and stages, on every database."""

from __future__ import annotations

import asyncio

import pytest

import waypost
from tests.engines import InMemory, OnFile, OnPostgres
from waypost import Engine, MemoryManager
from waypost.exceptions import Conflict, InvalidInput, NotFound, StageClosed
from waypost.model import LinkKind, MemoryLink, StageMemory, TaskStatus, Trust

LOG = "\n".join(
    f"2026-03-01 10:00:{i % 60:02} INFO copied chunk {i} in {i % 9} ms" for i in range(200)
)


async def work(memory: MemoryManager, task_id: str = "move") -> None:
    await memory.start_task("Move billing to Postgres 16", task_id=task_id)
    await memory.add_memory("We decided to use logical replication.", task_id=task_id)
    await memory.add_memory(
        "Never lock the table invoices.", task_id=task_id, is_critical=True, kind="constraint"
    )
    await memory.add_memory(LOG, task_id=task_id, kind="tool_output", origin="tool")


class StageSuite:
    async def test_a_memory_of_a_task_goes_into_its_open_stage(self, memory: MemoryManager) -> None:
        await memory.start_task("Plan the move", task_id="t")
        stage = await memory.start_stage("t", "planning")
        stored = await memory.add_memory("Ask Dana about the window.", task_id="t")
        assert stored.memory.stage_id == stage.stage_id
        assert [m.memory_id for m in await memory.stages.get_stage_memories(stage.stage_id)] == [
            stored.memory_id
        ]

    async def test_a_task_without_a_stage_gets_one_by_itself(self, memory: MemoryManager) -> None:
        await memory.start_task("Plan the move", task_id="t")
        stored = await memory.add_memory("Ask Dana about the window.", task_id="t")
        current = await memory.stages.current_stage("t")
        assert current is not None
        assert stored.memory.stage_id == current.stage_id
        assert current.stage_type == "execution"

    async def test_a_task_id_on_a_memory_needs_no_task(self, memory: MemoryManager) -> None:
        stored = await memory.add_memory("A note.", task_id="never started")
        assert stored.memory.stage_id is None

    async def test_one_stage_of_a_task_is_open_at_a_time(self, memory: MemoryManager) -> None:
        await memory.start_task("Plan the move", task_id="t")
        first = await memory.start_stage("t", "planning")
        again = await memory.start_stage("t", "planning")
        assert again.stage_id == first.stage_id
        with pytest.raises(Conflict, match="complete it before starting execution"):
            await memory.start_stage("t", "execution")

    async def test_completing_puts_a_measured_summary_above_the_memories(
        self, memory: MemoryManager
    ) -> None:
        await work(memory)
        stage = await memory.complete_stage("move")
        assert "We decided to use logical replication." in stage.stage_summary
        assert "Never lock the table invoices." in stage.critical_items
        assert stage.compression_ratio > 10
        assert stage.information_retention >= 0.95
        assert len(await memory.stages.get_stage_memories(stage.stage_id)) == 3

    async def test_completing_again_gives_the_same(self, memory: MemoryManager) -> None:
        await work(memory)
        first = await memory.complete_stage("move")
        assert await memory.complete_stage("move", first.stage_id) == first

    async def test_a_completed_stage_takes_nothing_more(self, memory: MemoryManager) -> None:
        await work(memory)
        stage = await memory.complete_stage("move")
        loose = await memory.add_memory("Not of any task.")
        with pytest.raises(StageClosed):
            await memory.add_memory("Too late.", task_id="move", stage_id=stage.stage_id)
        with pytest.raises(StageClosed):
            await memory.stages.add_to_stage(stage.stage_id, loose.memory_id)

    async def test_a_memory_belongs_to_one_stage(self, memory: MemoryManager) -> None:
        await memory.start_task("One", task_id="one")
        first = await memory.start_stage("one", "planning")
        stored = await memory.add_memory("Ask Dana.", task_id="one")
        await memory.start_task("Two", task_id="two")
        second = await memory.start_stage("two", "planning")
        with pytest.raises(Conflict):
            await memory.stages.add_to_stage(second.stage_id, stored.memory_id)
        await memory.stages.add_to_stage(first.stage_id, stored.memory_id)

    async def test_stages_never_mix(self, memory: MemoryManager) -> None:
        await memory.start_task("Move", task_id="t")
        await memory.start_stage("t", "planning")
        await memory.add_memory("The plan needs 3 weeks.", task_id="t")
        planning = await memory.complete_stage("t")
        await memory.start_stage("t", "execution")
        await memory.add_memory("The copy took 45 minutes.", task_id="t")
        execution = await memory.complete_stage("t")
        assert "45 minutes" not in planning.stage_summary
        assert "3 weeks" not in execution.stage_summary

    async def test_a_memory_that_arrives_meanwhile_is_compressed_too(
        self, memory: MemoryManager
    ) -> None:
        await work(memory)
        late = [
            memory.add_memory(f"Shard S{i} holds {i * 7} rows.", task_id="move") for i in range(8)
        ]
        stage, *stored = await asyncio.gather(memory.complete_stage("move"), *late)
        assert isinstance(stage, StageMemory)
        for one in stored:
            placed = await memory.get_memory(one.memory_id)
            in_stage = placed.stage_id == stage.stage_id
            assert in_stage == (one.memory_id in stage.raw_memory_refs)

    async def test_a_summary_has_the_lowest_trust_of_its_sources(
        self, memory: MemoryManager
    ) -> None:
        await memory.start_task("Move", task_id="t")
        await memory.add_memory("The window is at 22:00.", task_id="t", origin="user")
        await memory.add_memory("Blog: drop the table first.", task_id="t", origin="document")
        assert (await memory.complete_stage("t")).trust is Trust.UNTRUSTED
        await memory.start_stage("t", "verification")
        await memory.add_memory("The window was at 22:00.", task_id="t", origin="user")
        assert (await memory.complete_stage("t")).trust is Trust.HIGH

    async def test_the_task_summary_leaves_details_to_the_stages(
        self, memory: MemoryManager
    ) -> None:
        await memory.start_task("Move the invoices to Postgres 16", task_id="t")
        await memory.add_memories(
            [
                {"content": "Move the invoices to Postgres 16.", "task_id": "t", "origin": "user",
                 "kind": "message"},
                {"content": "We decided to copy at night.", "task_id": "t"},
                *({"content": f"Shard S{i} lies on host-{i} in rack R{i * 7}.", "task_id": "t"}
                  for i in range(30)),
            ]
        )  # fmt: skip
        stage = await memory.complete_stage("t")
        task = await memory.tasks.get("t")
        assert "host-17" in stage.stage_summary
        assert "host-17" not in task.task_progress_summary
        assert "We decided to copy at night." in task.task_progress_summary
        assert "Move the invoices" not in task.task_progress_summary

    async def test_the_tree_leads_from_the_goal_to_the_content(self, memory: MemoryManager) -> None:
        await work(memory)
        cites = MemoryLink(kind=LinkKind.CITES, target_id="c-7f3a")
        await memory.add_memory("The report has 3 pages.", task_id="move", links=[cites])
        await memory.complete_stage("move")
        tree = await memory.tasks.tree("move")
        (branch,) = tree.stages
        leaves = [leaf for line in branch.lines for leaf in line.memories]
        assert ("c-7f3a",) in {leaf.content_ids for leaf in leaves}
        assert all(line.missing == () for line in branch.lines)
        assert branch.memory_count == 4

    async def test_a_task_ends_with_a_summary_of_its_stages(self, memory: MemoryManager) -> None:
        await work(memory)
        task = await memory.complete_task("move", "moved on time")
        assert task.status is TaskStatus.COMPLETED
        assert task.outcome == "moved on time"
        assert "We decided to use logical replication." in task.task_progress_summary
        assert "Never lock the table invoices." in task.task_progress_summary
        assert task.performance_metrics["stages_completed"] == 1

    async def test_an_ended_task_stays_ended(self, memory: MemoryManager) -> None:
        await work(memory)
        task = await memory.complete_task("move", "moved on time")
        assert await memory.complete_task("move") == task
        with pytest.raises(Conflict):
            await memory.complete_task("move", status="failed")
        with pytest.raises(Conflict):
            await memory.start_stage("move", "planning")

    async def test_progress_tells_where_a_task_stands(self, memory: MemoryManager) -> None:
        await memory.start_task("Move", task_id="t", constraints=["no downtime"], project_id="db")
        await memory.start_stage("t", "planning")
        await memory.add_memory("TODO: who signs off the budget?", task_id="t")
        await memory.complete_stage("t")
        await memory.start_stage("t", "execution")
        progress = await memory.get_task_progress("t")
        assert progress.current_stage == "execution"
        assert progress.completed_stages == ("planning",)
        assert progress.critical_constraints == ("no downtime",)
        for heading in (
            "Goal", "Evidence", "Constraints and corrections", "Open items", "Next actions",
            "Tool hints",
        ):  # fmt: skip
            assert f"## {heading}" in progress.brief
        assert "who signs off the budget?" in progress.brief
        assert waypost.count_tokens(progress.brief) <= 2000

    async def test_the_stage_context_has_memories_and_errors(self, memory: MemoryManager) -> None:
        await work(memory)
        await memory.record_error("execution", "disk full on host-3", task_id="move")
        context = await memory.get_stage_context("move", "execution")
        assert context.relevant_memories[0].summary.startswith("Never lock")
        assert [error.error_description for error in context.recent_errors] == [
            "disk full on host-3"
        ]

    async def test_every_line_leads_down_and_every_memory_up(self, memory: MemoryManager) -> None:
        await work(memory)
        task = await memory.complete_task("move")
        for line in task.summary_lines:
            trail = await memory.expand_line("move", line.text)
            assert trail.memories
            for record in trail.memories:
                place = await memory.get_memory_place(record.memory_id)
                assert line in place.task_lines
                assert place.stage is not None
                assert place.stage.stage_id == trail.stage_id

    async def test_starting_a_task_again_returns_it(self, memory: MemoryManager) -> None:
        first = await memory.start_task("Move", task_id="t")
        assert await memory.start_task("Move", task_id="t") == first
        with pytest.raises(Conflict):
            await memory.start_task("Something else", task_id="t")

    async def test_what_does_not_exist_is_not_found(self, memory: MemoryManager) -> None:
        with pytest.raises(NotFound):
            await memory.start_stage("no such task", "planning")
        with pytest.raises(NotFound):
            await memory.get_task_progress("no such task")
        await memory.start_task("Move", task_id="t")
        with pytest.raises(NotFound, match="no open stage"):
            await memory.complete_stage("t")
        with pytest.raises(InvalidInput, match="planning, execution, reflection, verification"):
            await memory.start_stage("t", "dreaming")

    async def test_another_agent_sees_none_of_it(self, engine: Engine) -> None:
        planner, other = engine.agent("planner"), engine.agent("other")
        await work(planner)
        stage = await planner.complete_stage("move")
        with pytest.raises(NotFound):
            await other.get_task_progress("move")
        with pytest.raises(NotFound):
            await other.stages.get_stage(stage.stage_id)
        assert await other.tasks.list_tasks() == []
        assert (await other.tasks.costs())["compressions"] == 0

    async def test_costs_are_recorded_per_task_and_agent(self, memory: MemoryManager) -> None:
        await work(memory)
        await memory.complete_task("move")
        levels = [metric.level for metric in await memory.tasks.metrics("move")]
        assert levels == ["stage", "task"]
        spent = await memory.tasks.costs("move")
        assert spent["cost_usd"] == 0.0
        assert spent["reasoning_cost_usd"] > 0.0

    async def test_equal_content_is_compressed_once(self, memory: MemoryManager) -> None:
        await work(memory, "one")
        await work(memory, "two")
        first = await memory.complete_stage("one")
        second = await memory.complete_stage("two")
        assert first.stage_summary == second.stage_summary
        assert second.summary_lines[0].source_ids != first.summary_lines[0].source_ids
        cached = [
            metric.cached for metric in await memory.tasks.metrics() if metric.level == "stage"
        ]
        assert cached == [False, True]


class TestOnFile(StageSuite, OnFile):
    """One SQLite file."""

    async def test_a_stage_whose_completion_was_cut_off_completes_the_same(self, url: str) -> None:
        async with waypost.open(url) as engine:
            memory = engine.agent("planner")
            await work(memory)
            stage = await memory.stages.current_stage("move")
            assert stage is not None
            completing = asyncio.ensure_future(memory.complete_stage("move"))
            await asyncio.sleep(0)
            completing.cancel()
            await asyncio.gather(completing, return_exceptions=True)
        async with waypost.open(url) as engine:
            memory = engine.agent("planner")
            again = await memory.complete_stage("move", stage.stage_id)
            await work(memory, "copy")
            whole = await memory.complete_stage("copy")
        assert again.stage_summary == whole.stage_summary


class TestInMemory(StageSuite, InMemory):
    """A throw-away database."""


class TestOnPostgres(StageSuite, OnPostgres):
    """A PostgreSQL server."""
