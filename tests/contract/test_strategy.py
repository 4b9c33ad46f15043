"""Evidence for the next decision on a task, and what past decisions add to it."""

from __future__ import annotations

import pytest

from tests.engines import InMemory, OnPostgres
from waypost import DecisionType, MemoryManager
from waypost.exceptions import InvalidInput, NotFound


async def started(memory: MemoryManager, task_id: str = "t") -> None:
    await memory.start_task("Move billing", task_id=task_id, constraints=["no downtime"])


async def stuck(memory: MemoryManager, task_id: str = "t") -> None:
    """The same step fails again and again."""
    await started(memory, task_id)
    for number in range(4):
        await memory.add_interaction(
            "copy the table", f"failed at row {number}", success=False, task_id=task_id,
            actions=[{"name": "copy"}],
        )  # fmt: skip
        await memory.record_error(
            "execution", f"duplicate key at row {number}", task_id=task_id, tool="copy"
        )


class StrategySuite:
    async def test_a_task_goes_on_by_default(self, memory: MemoryManager) -> None:
        await started(memory)
        context = await memory.get_strategic_context("t", "continue")
        assert context.advised is DecisionType.CONTINUE
        assert context.critical_constraints == ("no downtime",)
        assert context.task_goal == "Move billing"

    async def test_steps_that_keep_failing_speak_for_a_pivot(self, memory: MemoryManager) -> None:
        await stuck(memory)
        context = await memory.get_strategic_context("t", "pivot")
        assert context.advised is DecisionType.PIVOT
        (pattern,) = context.error_patterns
        assert pattern.occurrences == 4
        assert [attempt.what for attempt in context.attempts][:1] == ["copy"]
        assert context.attempts[0].success is False

    async def test_every_piece_of_evidence_but_the_default_names_its_sources(
        self, memory: MemoryManager
    ) -> None:
        await stuck(memory)
        context = await memory.get_strategic_context("t")
        found = [item for items in context.evidence.values() for item in items]
        assert all(item.source_ids for item in found if "by default" not in item.statement)
        for decision, items in context.evidence.items():
            total = sum(item.weight for item in items)
            assert context.support[decision] == pytest.approx(total, abs=1e-3)

    async def test_finished_work_that_nothing_checked_asks_for_verification(
        self, memory: MemoryManager
    ) -> None:
        await started(memory)
        await memory.start_stage("t", "execution")
        await memory.add_memory("Copied 4218330 rows.", task_id="t")
        await memory.complete_stage("t")
        assert (await memory.get_strategic_context("t")).advised is DecisionType.VERIFY
        await memory.start_stage("t", "verification")
        await memory.add_memory("The checksums match.", task_id="t")
        await memory.complete_stage("t")
        assert (await memory.get_strategic_context("t")).advised is DecisionType.CONTINUE

    async def test_broken_constraints_and_severe_errors_speak_for_a_stop(
        self, memory: MemoryManager
    ) -> None:
        await started(memory)
        for what in ("dropped the source table", "locked invoices at noon", "lost the backup"):
            await memory.record_error("constraint", what, task_id="t", error_severity=0.95)
        assert (await memory.get_strategic_context("t", "stop")).advised is DecisionType.STOP

    async def test_how_a_decision_ended_changes_later_advice(self, memory: MemoryManager) -> None:
        await stuck(memory)
        before = await memory.get_strategic_context("t")
        for _ in range(2):
            await memory.record_intervention_outcome(
                "t", "pivot", "used another tool", outcome="failed as well", success=False
            )
        after = await memory.get_strategic_context("t")
        assert after.support[DecisionType.PIVOT] < before.support[DecisionType.PIVOT]
        assert after.advised is not DecisionType.PIVOT
        assert len(after.interventions) == 2

    async def test_other_tasks_learn_from_it_with_less_weight(self, memory: MemoryManager) -> None:
        await stuck(memory, "here")
        await stuck(memory, "there")
        before = (await memory.get_strategic_context("there")).support[DecisionType.PIVOT]
        await memory.record_intervention_outcome("here", "pivot", "new tool", success=True)
        gained = (await memory.get_strategic_context("there")).support[DecisionType.PIVOT] - before
        own = (await memory.get_strategic_context("here")).support[DecisionType.PIVOT] - before
        assert 0 < gained < own

    async def test_metrics_show_how_they_moved_since_the_intervention(
        self, memory: MemoryManager
    ) -> None:
        await started(memory)
        for accuracy in (0.6, 0.8):
            await memory.record_intervention_outcome(
                "t", "verify", "ran the checks", success=True, metrics_after={"accuracy": accuracy}
            )
        context = await memory.get_strategic_context("t", "verify")
        assert context.performance_metrics["accuracy"] == 0.8
        assert context.metrics_trend["accuracy"] == pytest.approx(0.2)

    async def test_the_same_situation_gives_the_same_advice(self, memory: MemoryManager) -> None:
        await stuck(memory)
        first = await memory.get_strategic_context("t", "pivot")
        assert await memory.get_strategic_context("t", "pivot") == first

    async def test_bad_questions_are_refused(self, memory: MemoryManager) -> None:
        await started(memory)
        with pytest.raises(InvalidInput, match="continue, pivot, verify, stop"):
            await memory.get_strategic_context("t", "panic")
        with pytest.raises(NotFound):
            await memory.get_strategic_context("no such task")
        with pytest.raises(InvalidInput, match="description is empty"):
            await memory.record_intervention_outcome("t", "pivot", " ")


class TestInMemory(StrategySuite, InMemory):
    """A throw-away database."""


class TestOnPostgres(StrategySuite, OnPostgres):
    """A PostgreSQL server."""
