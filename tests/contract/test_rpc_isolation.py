"""Every method against another agent's ids: nothing is read, written or revealed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

import waypost
from tests.served import Served, served
from waypost import Engine
from waypost.content.identifiers import content_id
from waypost.model import new_id
from waypost.service.methods import build_registry
from waypost.store.tables import metadata

CANARY = "xyzzy-plugh"


@dataclass(frozen=True)
class Ids:
    """Names of things; the owner's, or of nothing at all."""

    memory: str
    archived: str
    promoted: str
    content: str
    stage: str
    error: str
    job: str
    task: str = "the-owners-task"
    project: str = "the-owners-project"
    run: str = "the-owners-run"

    @classmethod
    def of_nothing(cls) -> Ids:
        unknown = content_id("no-run", 0)
        minted = [new_id() for _ in range(6)]
        return cls(*minted[:3], unknown, *minted[3:], "no-task", "no-project", "no-run")


async def furnish(engine: Engine) -> Ids:
    """Give the owner one of everything, with the canary in each."""
    memory = engine.agent("owner")
    place = {"task_id": Ids.task, "project_id": Ids.project, "run_id": Ids.run}
    await memory.start_task(f"Find {CANARY}.", task_id=Ids.task, project_id=Ids.project)
    stage = await memory.start_stage(Ids.task, "execution")
    kept = await memory.add_interaction(f"Where is {CANARY}?", f"{CANARY} is here.", **place)
    promoted = await memory.promote(kept.memory_id)
    archived = await memory.add_memory(f"{CANARY} was there.", type="working")
    await memory.prune("working", share=1.0)
    item = await memory.content(Ids.run).store(f"All about {CANARY}.", source=CANARY)
    error = await memory.record_error("lookup", f"{CANARY} is not there.", task_id=Ids.task)
    await memory.record_intervention_outcome(Ids.task, "pivot", f"Look for {CANARY} elsewhere.")
    job = await memory.jobs.wait((await memory.jobs.erase(source="nobody")).job_id)
    return Ids(
        kept.memory_id,
        archived.memory_id,
        promoted.memory_id,
        item.content_id,
        stage.stage_id,
        error.error_id,
        job.job_id,
    )


def calls(ids: Ids) -> dict[str, list[dict[str, Any]]]:
    """For every method, parameters that point at the given things."""
    where = {"task_id": ids.task}
    placed = {"task_id": ids.task, "project_id": ids.project, "run_id": ids.run}
    return {
        "memory.store": [
            {
                "memory": {
                    "content": "mine",
                    "links": [{"kind": "related", "target_id": ids.memory}],
                }
            },
            {"interaction": {"query": "mine", **placed}},
        ],
        "memory.store_many": [{"memories": [{"content": "mine", **placed}]}],
        "memory.retrieve": [
            {"query": CANARY},
            {"query": CANARY, **placed},
            {"query": CANARY, "where": {"agent_id": "owner"}},
            {"query": CANARY, "include_superseded": True, "where": {"memory_id": ids.memory}},
        ],
        "memory.get_context": [{"query": CANARY}, {"query": CANARY, **placed}],
        "memory.get": [{"memory_id": ids.memory}, {"memory_id": ids.archived}],
        "memory.list": [{}, {"where": where}, {"where": {"agent_id": "owner"}}],
        "memory.count": [{}, {"where": where}, {"where": {"agent_id": {"$ne": "stranger"}}}],
        "memory.update": [{"memory_id": ids.memory, "updates": {"content": "changed"}}],
        "memory.delete": [{"memory_id": ids.memory}],
        "memory.history": [{"memory_id": ids.memory}, {"memory_id": ids.archived}],
        "memory.statistics": [{}],
        "memory.start_task": [
            {"goal": "mine", "task_id": ids.task, "project_id": ids.project},
        ],
        "memory.start_stage": [{"task_id": f"{ids.task}-2", "stage_type": "planning"}],
        "memory.complete_stage": [
            {"task_id": f"{ids.task}-2"},
            {"task_id": ids.task, "stage_id": ids.stage},
        ],
        "memory.complete_task": [{"task_id": f"{ids.task}-2"}],
        "memory.get_task_progress": [{"task_id": ids.task}],
        "memory.get_stage_context": [{"task_id": ids.task, "current_stage": "execution"}],
        "memory.expand_line": [{"task_id": ids.task, "line": CANARY}],
        "memory.get_memory_place": [{"memory_id": ids.memory}],
        "memory.get_working_memory": [{"task_id": ids.task}],
        "memory.record_error": [
            {"error": {"error_type": "x", "error_description": "mine", "task_id": ids.task}},
            {"error": {"error_type": "x", "error_description": "mine", "stage_id": ids.stage}},
            {"error": {"error_type": "x", "error_description": "mine", "memory_id": ids.memory}},
        ],
        "memory.resolve_error": [{"error_id": ids.error, "recovery_action": "changed"}],
        "memory.get_error_history": [{}, {"task_id": ids.task}],
        "memory.detect_error_patterns": [{}, {"task_id": ids.task}],
        "memory.get_strategic_context": [{"task_id": ids.task, "decision_type": "pivot"}],
        "memory.record_intervention_outcome": [
            {"task_id": ids.task, "decision_type": "stop", "description": "mine"}
        ],
        "memory.get_profile": [{}],
        "memory.set_profile": [{"half_life_hours": 1.0}],
        "memory.report_context_use": [{"items": [], "used": []}],
        "memory.get_tier_split": [{}],
        "memory.promote": [{"memory_id": ids.memory, "to": "global"}],
        "memory.undo_promotion": [{"promoted_id": ids.promoted}],
        "memory.prune": [{}, {"where": {"agent_id": "owner"}, "share": 1.0}],
        "memory.restore": [{"memory_ids": [ids.archived]}, {"all": True}],
        "memory.erase": [{"source": CANARY}, {"everything": True}],
        "jobs.complete_stage": [
            {"task_id": f"{ids.task}-2"},
            {"task_id": ids.task, "stage_id": ids.stage},
        ],
        "jobs.prune": [{}, {"where": {"agent_id": "owner"}, "share": 1.0}],
        "jobs.erase": [{"source": CANARY}],
        "jobs.get": [{"job_id": ids.job}],
        "jobs.latest": [{}],
        "content.retrieve": [
            {"content_id": ids.content},
            {"content_id": ids.content, "run_id": ids.run},
        ],
        "content.query": [{}, {"criteria": {"run_id": ids.run}}, {"criteria": {"text": CANARY}}],
        "content.get": [
            {"content_id": ids.content},
            {"content_id": ids.content, "run_id": ids.run},
        ],
        "content.cite": [{"content_id": ids.content}],
        "content.read": [{"content_id": ids.content}],
        "content.clear": [{"run_id": ids.run}],
        "content.store": [{"content": "mine", "run_id": ids.run, "related_to": [ids.content]}],
        "rpc.discover": [{}],
    }


def test_every_method_is_tried() -> None:
    assert calls(Ids.of_nothing()).keys() == {method.name for method in build_registry()}


@pytest.fixture(params=["sqlite", "postgresql"])
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Served]:
    url = str(tmp_path / "memory.db")
    options = {}
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_url")
        options = {"archive_url": str(tmp_path / "archive")}
    async with waypost.open(url, **options) as engine, served(engine) as service:
        yield service


def owned_rows(connection: Connection) -> dict[str, list[str]]:
    """Everything that belongs to the owner, in every table."""
    return {
        table.name: sorted(
            repr(row)
            for row in connection.execute(select(table).where(table.c.agent_id == "owner"))
        )
        for table in metadata.sorted_tables
        if "agent_id" in table.c
    }


async def test_a_stranger_reads_writes_and_learns_nothing(service: Served) -> None:
    ids = await furnish(service.engine)
    await service.engine.tracker.flush()
    before = await service.engine.database.read(owned_rows)
    nothing = Ids.of_nothing()
    for (method, tried), vain in zip(calls(ids).items(), calls(nothing).values(), strict=True):
        for params, others in zip(tried, vain, strict=True):
            answer = await service.rpc(method, params, agent="stranger")
            text = json.dumps(answer)
            asked = json.dumps(params)
            assert CANARY not in text or CANARY in asked, f"{method} {asked} revealed {text}"
            assert "is here" not in text, f"{method} {asked} revealed {text}"
            assert '"owner"' not in text, f"{method} {asked} revealed {text}"
            unknown = await service.rpc(method, others, agent="stranger")
            assert outline(answer, ids) == outline(unknown, nothing), f"{method} {asked}"
    await service.engine.tracker.flush()
    assert await service.engine.database.read(owned_rows) == before


def outline(answer: dict[str, Any], ids: Ids) -> Any:
    """What an answer says about the ids it was asked for, whatever they are called."""
    if "error" in answer:
        message = answer["error"]["message"]
        for name, value in asdict(ids).items():
            message = message.replace(value, name)
        return answer["error"]["code"], message
    return answer["result"].keys()


async def test_the_owner_still_finds_everything(service: Served) -> None:
    """The calls above do work, for the one they are meant for."""
    ids = await furnish(service.engine)
    for method, params in (
        ("memory.get", {"memory_id": ids.memory}),
        ("memory.history", {"memory_id": ids.memory}),
        ("content.retrieve", {"content_id": ids.content, "run_id": ids.run}),
        ("memory.undo_promotion", {"promoted_id": ids.promoted}),
        ("memory.get_task_progress", {"task_id": ids.task}),
        ("memory.get_memory_place", {"memory_id": ids.memory}),
        ("memory.resolve_error", {"error_id": ids.error, "recovery_action": "looked again"}),
        ("memory.complete_stage", {"task_id": ids.task, "stage_id": ids.stage}),
        ("content.cite", {"content_id": ids.content}),
        ("jobs.get", {"job_id": ids.job}),
        ("memory.restore", {"memory_ids": [ids.archived]}),
    ):
        assert "result" in await service.rpc(method, params, agent="owner"), method
    vain = replace(ids, memory=new_id())
    assert "error" in await service.rpc("memory.get", {"memory_id": vain.memory}, agent="owner")
