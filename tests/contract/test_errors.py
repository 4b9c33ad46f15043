"""Errors recorded, recognised, recalled and resolved, on every database."""

from __future__ import annotations

import pytest

from tests.engines import InMemory, OnFile, OnPostgres
from waypost import Engine, ErrorRecord, MemoryManager
from waypost.exceptions import InvalidInput, NotFound

TIMEOUT = "PoolTimeout: no free connection after {} s"


async def fail(memory: MemoryManager, seconds: int, **details: object) -> ErrorRecord:
    values: dict[str, object] = {"task_id": "t", "tool": "charge", **details}
    return await memory.record_error("execution", TIMEOUT.format(seconds), **values)


async def started(memory: MemoryManager, task_id: str = "t", project: str = "shop") -> None:
    await memory.start_task("Make checkout fast", task_id=task_id, project_id=project)


class ErrorSuite:
    async def test_an_error_has_a_severity_a_signature_a_stage_and_a_memory(
        self, memory: MemoryManager
    ) -> None:
        await started(memory)
        stage = await memory.start_stage("t", "execution")
        error = await fail(memory, 30)
        assert error.stage_id == stage.stage_id
        assert error.error_severity == memory.errors.calculate_error_severity(
            "execution", error.error_description
        )
        assert error.signature_version == 1
        assert error.memory_id is not None
        assert "PoolTimeout" in (await memory.get_memory(error.memory_id)).content

    async def test_a_given_severity_and_memory_are_kept(self, memory: MemoryManager) -> None:
        await started(memory)
        step = await memory.add_memory("Charged the card of order W42.", task_id="t")
        error = await fail(memory, 30, error_severity=0.25, memory_id=step.memory_id)
        assert (error.error_severity, error.memory_id) == (0.25, step.memory_id)

    async def test_the_history_is_in_order_and_can_be_limited_to_the_last_stages(
        self, memory: MemoryManager
    ) -> None:
        await started(memory)
        for number, stage in enumerate(("planning", "execution", "verification")):
            await memory.start_stage("t", stage)
            await fail(memory, number + 1)
            await memory.complete_stage("t")
        history = await memory.get_error_history("t")
        assert [error.error_description for error in history] == [
            TIMEOUT.format(seconds) for seconds in (1, 2, 3)
        ]
        assert len(await memory.get_error_history("t", lookback_stages=2)) == 2

    async def test_two_errors_of_one_signature_are_a_pattern(self, memory: MemoryManager) -> None:
        await started(memory)
        await fail(memory, 30, context_when_occurred="64 workers on one pool")
        await fail(memory, 45, context_when_occurred="64 workers after a deploy")
        await memory.record_error("execution", "disk full on host-3", task_id="t", tool="charge")
        (pattern,) = await memory.detect_error_patterns("t")
        assert pattern.occurrences == 2
        assert pattern.error_type == "execution"
        assert "workers" in pattern.common_context

    async def test_two_unrelated_errors_of_one_type_are_none(self, memory: MemoryManager) -> None:
        await started(memory)
        await fail(memory, 30)
        await memory.record_error("execution", "the total is wrong", task_id="t", tool="charge")
        assert await memory.detect_error_patterns("t") == []

    async def test_a_recovery_that_ended_it_is_recommended_with_its_count(
        self, memory: MemoryManager
    ) -> None:
        for task_id in ("a", "b"):
            await started(memory, task_id)
            error = await fail(memory, 30, task_id=task_id)
            await memory.resolve_error(error.error_id, "raise pool_size")
        await started(memory, "c")
        await fail(memory, 31, task_id="c")
        await fail(memory, 32, task_id="c")
        (pattern,) = await memory.detect_error_patterns("c")
        assert pattern.recommendation is not None
        assert pattern.recommendation.text == "raise pool_size (no recurrence in 2 of 2)"

    async def test_a_memory_tied_to_a_recent_error_scores_higher(
        self, memory: MemoryManager
    ) -> None:
        await started(memory)
        one = await memory.add_memory("Charged the card of order W42.", task_id="t")
        await memory.add_memory("Charged the card of order W43.", task_id="t")
        await fail(memory, 30, memory_id=one.memory_id)
        recall = await memory.retrieve_memories("charged the card of an order", k=2)
        criticality = {
            found.memory.memory_id: found.why.factors.criticality for found in recall.memories
        }
        assert criticality[one.memory_id] == 0.6
        assert recall.memories[0].memory.memory_id == one.memory_id

    async def test_open_patterns_stand_in_the_context_of_their_project(
        self, memory: MemoryManager
    ) -> None:
        await started(memory)
        await fail(memory, 30)
        second = await fail(memory, 45)
        await started(memory, "sibling")
        context = await memory.get_relevant_context("charge the card", task_id="sibling")
        assert "Mistakes to avoid" in context.text
        assert "2 times in charge: PoolTimeout" in context.text
        await memory.resolve_error(second.error_id, "raise pool_size")
        context = await memory.get_relevant_context("charge the card", task_id="sibling")
        assert "2 times in charge" not in context.text

    async def test_another_project_is_not_told(self, memory: MemoryManager) -> None:
        await started(memory)
        await fail(memory, 30)
        await fail(memory, 45)
        await started(memory, "elsewhere", project="library")
        context = await memory.get_relevant_context("charge the card", task_id="elsewhere")
        assert "2 times in charge" not in context.text

    async def test_a_severe_error_stands_in_every_context_of_its_task_until_resolved(
        self, memory: MemoryManager
    ) -> None:
        await started(memory)
        error = await memory.record_error(
            "constraint", "restarted at 14:10 inside the protected hours",
            task_id="t", tool="restart", error_severity=0.9,
        )  # fmt: skip
        await memory.add_memories(
            [{"content": f"Unrelated note {i} about shelf {i}.", "task_id": "t"} for i in range(40)]
        )
        context = await memory.get_relevant_context("which shelf", task_id="t", max_tokens=400)
        assert "inside the protected hours" in context.text
        await memory.resolve_error(error.error_id, "moved to the night")
        context = await memory.get_relevant_context("which shelf", task_id="t", max_tokens=400)
        assert "a severe error" not in {item.reason for item in context.items}

    async def test_bad_errors_are_refused_and_nothing_is_written(
        self, memory: MemoryManager
    ) -> None:
        with pytest.raises(InvalidInput, match="error_description"):
            await memory.record_error("execution", "")
        with pytest.raises(InvalidInput, match="error_severity"):
            await memory.record_error("execution", "bad", error_severity=7)
        with pytest.raises(InvalidInput, match="NUL"):
            await memory.record_error("execution", "bad \x00 byte")
        with pytest.raises(InvalidInput, match="colour"):
            await memory.record_error("execution", "bad", colour="red")
        assert await memory.get_error_history() == []

    async def test_ids_of_another_agent_are_not_found(self, engine: Engine) -> None:
        planner, other = engine.agent("planner"), engine.agent("other")
        await started(planner)
        error = await fail(planner, 30)
        with pytest.raises(NotFound):
            await other.resolve_error(error.error_id, "mine now")
        with pytest.raises(NotFound):
            await other.record_error("execution", "bad", memory_id=error.memory_id)
        assert await other.get_error_history("t") == []
        assert await other.detect_error_patterns("t") == []


class TestOnFile(ErrorSuite, OnFile):
    """One SQLite file."""


class TestInMemory(ErrorSuite, InMemory):
    """A throw-away database."""


class TestOnPostgres(ErrorSuite, OnPostgres):
    """A PostgreSQL server."""
