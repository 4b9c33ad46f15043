"""Tasks, stages, errors, content and the archive: the same on a file and on a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import waypost
from tests.served import library_or_client, served
from waypost.exceptions import Conflict, InvalidInput, NotFound
from waypost.model import DecisionType, StageType, TaskStatus

TASK = "move-the-library"


@pytest.fixture(params=["library", "client"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with library_or_client(request.param, tmp_path / "memory.db") as engine:
        yield engine.agent("planner")


async def begin(memory: Any) -> None:
    await memory.start_task(
        "Move the library to the new building.",
        task_id=TASK,
        constraints=["Stay below 9,000 euros."],
        metadata={"customer": "city"},
    )
    await memory.start_stage(TASK, "planning")
    for floor in range(3):
        await memory.add_memory(f"Decided: floor {floor} moves on May {floor + 4}.", task_id=TASK)


async def test_a_task_is_followed_from_goal_to_summary(memory: Any) -> None:
    await begin(memory)
    assert len(await memory.get_working_memory(TASK)) == 3
    stage = await memory.complete_stage(TASK)
    assert stage.stage_type is StageType.PLANNING
    assert "May 5" in stage.stage_summary
    assert await memory.complete_stage(TASK, stage.stage_id) == stage
    progress = await memory.get_task_progress(TASK)
    assert progress.completed_stages == (StageType.PLANNING,)
    assert progress.critical_constraints == ("Stay below 9,000 euros.",)
    ended = await memory.complete_task(TASK, "All floors moved.")
    assert (ended.status, ended.outcome) == (TaskStatus.COMPLETED, "All floors moved.")
    with pytest.raises(Conflict):
        await memory.complete_task(TASK, status="failed")


async def test_a_line_leads_down_to_its_memories_and_a_memory_up_to_its_line(memory: Any) -> None:
    await begin(memory)
    stage = await memory.complete_stage(TASK)
    line = next(line for line in stage.summary_lines if "May 5" in line.text)
    trail = await memory.expand_line(TASK, line.text)
    assert trail.memories[0].memory_id in line.source_ids
    place = await memory.get_memory_place(trail.memories[0].memory_id)
    assert place.stage.stage_id == stage.stage_id
    assert line in place.stage_lines


async def test_errors_are_recorded_recognised_and_resolved(memory: Any) -> None:
    await begin(memory)
    for number in range(2):
        error = await memory.record_error(
            "execution",
            f"Lift {number} stopped: TimeoutError after 30 s",
            task_id=TASK,
            tool="lift",
            error_severity=0.7,
        )
    solved = await memory.resolve_error(error.error_id, "Restarted the lift.")
    assert solved.resolved
    assert [e.error_id for e in await memory.get_error_history(TASK)][-1] == error.error_id
    (pattern,) = await memory.detect_error_patterns(TASK)
    assert (pattern.occurrences, pattern.tool) == (2, "lift")
    assert await memory.detect_error_patterns(TASK, lookback_stages=None) == [pattern]
    context = await memory.get_stage_context(TASK, "planning")
    assert context.recent_errors


async def test_a_decision_and_its_outcome_are_remembered(memory: Any) -> None:
    await begin(memory)
    made = await memory.record_intervention_outcome(
        TASK, "pivot", "Use the stairs.", outcome="It worked.", success=True
    )
    advice = await memory.get_strategic_context(TASK, DecisionType.PIVOT)
    assert advice.task_goal == "Move the library to the new building."
    assert made in advice.interventions


async def test_content_is_kept_beside_the_conversation(memory: Any) -> None:
    content = memory.content("run-1")
    item = await content.store("floor,books\n1,900\n2,1100\n", source="shelves", tags=["count"])
    raw = await content.store(bytes(range(256)) * 10, media_type="application/octet-stream")
    assert (await content.retrieve(item.content_id, "first_n", n=1)).text.startswith("floor")
    assert [each.content_id for each in await content.query(tags=["count"])] == [item.content_id]
    assert item.content_id in (await content.cite(item.content_id)).text
    assert await content.get(raw.content_id) == raw
    chunks = [chunk async for chunk in content.open(raw.content_id)]
    assert b"".join(chunks) == bytes(range(256)) * 10
    assert await content.clear() == 2
    assert await content.query() == []


async def test_memories_are_promoted_pruned_restored_and_erased(memory: Any) -> None:
    told = await memory.add_memory("Ana has the keys.", task_id=TASK, project_id="move")
    copy = await memory.promote(told.memory_id)
    assert copy.memory.tier == "project"
    await memory.undo_promotion(copy.memory_id)
    pruned = await memory.prune(share=1.0)
    assert told.memory_id in pruned.memory_ids
    with pytest.raises(NotFound):
        await memory.get_memory(told.memory_id)
    assert (await memory.restore(told.memory_id)).restored_count == 1
    assert (await memory.restore()).restored_count == pruned.pruned_count - 1
    await memory.add_memory("From a stranger.", source="stranger")
    assert len((await memory.erase(source="stranger")).memory_ids) == 1
    assert (await memory.erase()).rows["memories"] >= 1
    assert await memory.count_memories() == 0


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("start_task", {"goal": " "}, InvalidInput),
        ("start_stage", {"task_id": "no-such-task", "stage_type": "planning"}, NotFound),
        ("start_stage", {"task_id": TASK, "stage_type": "resting"}, InvalidInput),
        ("get_task_progress", {"task_id": "no-such-task"}, NotFound),
        ("get_memory_place", {"memory_id": "x"}, InvalidInput),
        ("record_error", {"error_type": "x", "error_description": ""}, InvalidInput),
        ("restore", {"memory_ids": [], "where": {}}, InvalidInput),
        ("prune", {"strategy": "at random"}, InvalidInput),
        ("erase", {"source": " "}, InvalidInput),
    ],
)
async def test_what_is_wrong_raises_the_same_error(
    memory: Any, method: str, arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await getattr(memory, method)(**arguments)


async def test_what_cannot_be_sent_is_said(tmp_path: Path) -> None:
    async with library_or_client("client", tmp_path / "memory.db") as client:
        with pytest.raises(InvalidInput, match="cannot be sent"):
            await client.agent().prune(progress=lambda done, total: None)


async def test_answers_have_the_members_that_other_systems_expect(tmp_path: Path) -> None:
    """The shapes that agents of the original designs read."""
    async with waypost.open(tmp_path / "memory.db") as engine, served(engine) as service:
        await begin(engine.agent("planner"))
        stage = {"task_id": TASK, "current_stage": "planning"}
        error = {"task_id": TASK, "error_type": "validation", "error_description": "Box lost."}
        for _ in range(2):
            await service.rpc("memory.record_error", {"error": error})
        context = (await service.rpc("memory.get_stage_context", stage))["result"]
        assert context.keys() >= {"stage_summary", "stage_insights"}
        assert context["relevant_memories"][0].keys() == {
            "memory_id", "summary", "importance_score"
        }  # fmt: skip
        assert context["recent_errors"][0].keys() >= {"error_type", "description", "severity"}
        found = (await service.rpc("memory.detect_error_patterns", {"task_id": TASK}))["result"]
        assert found["patterns"][0].keys() == {
            "error_type", "occurrences", "avg_severity", "common_context", "recommendation"
        }  # fmt: skip
        done = (await service.rpc("memory.complete_stage", {"task_id": TASK}))["result"]
        assert done.keys() >= {
            "stage_summary", "stage_insights", "compression_ratio", "original_tokens",
            "compressed_tokens", "information_retention", "cost_usd",
        }  # fmt: skip
        progress = (await service.rpc("memory.get_task_progress", {"task_id": TASK}))["result"]
        assert progress.keys() >= {
            "task_goal", "task_progress_summary", "current_stage", "completed_stages",
            "critical_constraints", "performance_metrics",
        }  # fmt: skip
