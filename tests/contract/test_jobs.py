"""Background jobs: each is done once, whoever does it, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

import waypost
from waypost import Engine
from waypost.exceptions import InvalidInput, NotFound, ProviderUnavailable
from waypost.jobs import performer, queued
from waypost.model import new_id
from waypost.model.jobs import JobKind, JobStatus
from waypost.store.tables import jobs

ENGINES = 3


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "memory.db")
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def engines(url: str, tmp_path: Path) -> AsyncIterator[list[Engine]]:
    """Several engines on one database, as several workers have it."""
    async with AsyncExitStack() as stack:
        options = {"archive_url": str(tmp_path / "archive")}
        yield [
            await stack.enter_async_context(waypost.open(url, **options)) for _ in range(ENGINES)
        ]


async def test_a_stage_is_summarised_in_the_background(engines: list[Engine]) -> None:
    memory = engines[0].agent("planner")
    await memory.start_task("Move the library.", task_id="move")
    stage = await memory.start_stage("move", "planning")
    await memory.add_memory("Decided: floor 1 moves on May 4.", task_id="move")
    asked = await memory.jobs.complete_stage("move")
    assert asked.kind is JobKind.COMPLETE_STAGE
    done = await memory.jobs.wait(asked.job_id)
    assert (done.status, done.attempts) == (JobStatus.DONE, 1)
    assert done.result is not None
    assert done.result["stage_id"] == stage.stage_id
    assert "May 4" in (await memory.get_task_progress("move")).stages[0].stage_summary


async def test_pruning_takes_what_was_settled_when_it_was_asked_for(engines: list[Engine]) -> None:
    memory = engines[0].agent("planner")
    await memory.add_memories({"content": f"Crate {n} holds lamps."} for n in range(10))
    done = await memory.jobs.wait((await memory.jobs.prune()).job_id)
    assert done.result == {"pruned_count": 2, "skipped": 0}
    assert await memory.count_memories() == 8
    assert await memory.archive.count() == 2


async def test_an_agent_is_erased_in_the_background(engines: list[Engine]) -> None:
    memory, other = engines[0].agent("planner"), engines[0].agent("critic")
    await memory.add_memory("Crate 1 holds lamps.")
    await other.add_memory("Crate 2 holds lamps.")
    done = await memory.jobs.wait((await memory.jobs.erase()).job_id)
    assert done.status is JobStatus.DONE
    assert done.result is not None
    assert done.result["rows"]["memories"] == 1
    assert await memory.count_memories() == 0
    assert await other.count_memories() == 1


async def test_every_job_is_done_exactly_once_by_one_of_the_workers(
    engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: Counter[str] = Counter()
    for engine in engines:
        count_steps(engine, begun, monkeypatch)
    agents = [f"agent-{n}" for n in range(12)]
    asked = []
    for number, agent in enumerate(agents):
        memory = engines[number % ENGINES].agent(agent)
        await memory.add_memories({"content": f"Crate {n} holds lamps."} for n in range(5))
        asked.append((memory, await memory.jobs.prune(share=0.4)))
    done = await asyncio.gather(*(memory.jobs.wait(job.job_id) for memory, job in asked))
    assert {job.status for job in done} == {JobStatus.DONE}
    assert begun == dict.fromkeys(agents, 1)
    for memory, _ in asked:
        assert await memory.count_memories() == 3


def count_steps(engine: Engine, begun: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    steps = engine.worker._performer._steps
    prune = steps[JobKind.PRUNE]

    async def counted(agent_id: str, asked: dict[str, Any]) -> dict[str, Any]:
        begun[agent_id] += 1
        return await prune(agent_id, asked)

    monkeypatch.setitem(steps, JobKind.PRUNE, counted)


async def test_asking_twice_gives_the_job_that_is_there(url: str) -> None:
    async with waypost.open(url) as engine:
        await engine.worker.close()
        memory = engine.agent("planner")
        first = await memory.jobs.erase(source="mail")
        assert await memory.jobs.erase(source="mail") == first
        assert await memory.jobs.erase(source="chat") != first
        assert [job.job_id for job in await memory.jobs.latest()][-1] == first.job_id
        assert (await memory.jobs.get(first.job_id)).status is JobStatus.WAITING


async def test_a_job_that_cannot_be_done_says_why(engines: list[Engine]) -> None:
    memory = engines[0].agent("planner")
    for engine in engines:
        fail_with(engine, InvalidInput("the archive has moved"))
    failed = await memory.jobs.wait((await memory.jobs.prune()).job_id)
    assert (failed.status, failed.error) == (JobStatus.FAILED, "the archive has moved")


async def test_a_job_that_fails_for_now_is_tried_again(
    engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(performer, "MOST_ATTEMPTS", 1)
    memory = engines[0].agent("planner")
    for engine in engines:
        fail_with(engine, ProviderUnavailable("busy"))
    failed = await memory.jobs.wait((await memory.jobs.prune()).job_id)
    assert (failed.status, failed.error, failed.attempts) == (JobStatus.FAILED, "busy", 1)


def fail_with(engine: Engine, error: Exception) -> None:
    async def failing(agent_id: str, asked: dict[str, Any]) -> dict[str, Any]:
        raise error

    engine.worker._performer._steps[JobKind.PRUNE] = failing  # type: ignore[index]


async def test_a_stranger_sees_no_job(engines: list[Engine]) -> None:
    asked = await engines[0].agent("planner").jobs.erase(source="mail")
    stranger = engines[0].agent("critic")
    with pytest.raises(NotFound):
        await stranger.jobs.get(asked.job_id)
    with pytest.raises(NotFound):
        await stranger.jobs.get(new_id())
    assert await stranger.jobs.latest() == []
    await engines[0].agent("planner").jobs.wait(asked.job_id)


async def test_mistakes_are_found_when_asking(engines: list[Engine]) -> None:
    asking = engines[0].agent("planner").jobs
    with pytest.raises(NotFound):
        await asking.complete_stage("no-such-task")
    with pytest.raises(InvalidInput):
        await asking.prune(strategy="at random")
    with pytest.raises(InvalidInput):
        await asking.prune(dry_run=True)
    with pytest.raises(InvalidInput):
        await asking.erase(source=" ")
    assert await asking.latest() == []


HANGING = """
import asyncio, sys
import waypost
from waypost.jobs import performer, queued
from waypost.model.jobs import JobKind
from datetime import timedelta

performer.LEASE = timedelta(seconds=1)
queued.PACE = queued.Pace(heartbeat=0.3, silence=1.0)

async def main():
    async with waypost.open(sys.argv[1], archive_url=sys.argv[2]) as engine:
        prune = engine.worker._performer._steps[JobKind.PRUNE]

        async def half(agent_id, asked):
            await prune(agent_id, {"memory_ids": asked["memory_ids"][:2]})
            print("half", flush=True)
            await asyncio.Event().wait()

        engine.worker._performer._steps[JobKind.PRUNE] = half
        job = await engine.agent("planner").jobs.prune(share=0.5)
        print(job.job_id, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_job_whose_worker_was_killed_half_way_is_finished_by_another(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Doing the rest of it has the effect of doing it once: half of the memories, not more."""
    monkeypatch.setattr(queued, "PACE", queued.Pace(heartbeat=0.3, silence=1.0))
    archive = str(tmp_path / "archive")
    async with waypost.open(url, archive_url=archive) as engine:
        await engine.agent("planner").add_memories({"content": f"Crate {n}."} for n in range(8))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HANGING, url, archive,
        stdout=asyncio.subprocess.PIPE, env=os.environ | {"PYTHONWARNINGS": "default"},
    )  # fmt: skip
    assert process.stdout is not None
    said = {(await process.stdout.readline()).decode().strip() for _ in range(2)}
    process.send_signal(signal.SIGKILL)
    await process.wait()
    (job_id,) = said - {"half"}
    async with waypost.open(url, archive_url=archive) as engine:
        memory = engine.agent("planner")
        assert (await memory.jobs.get(job_id)).status is JobStatus.RUNNING
        done = await memory.jobs.wait(job_id)
        assert (done.status, done.result) == (JobStatus.DONE, {"pruned_count": 4, "skipped": 0})
        assert await memory.count_memories() == 4
        assert await memory.archive.count() == 4


async def test_a_job_that_was_asked_for_just_before_a_crash_is_done_at_the_next_opening(
    url: str,
) -> None:
    async with waypost.open(url) as engine:
        await engine.worker.close()
        memory = engine.agent("planner")
        await memory.add_memory("From a stranger.", source="stranger")
        asked = await memory.jobs.erase(source="stranger")
    async with waypost.open(url) as engine:
        memory = engine.agent("planner")
        assert (await memory.jobs.wait(asked.job_id)).status is JobStatus.DONE
        assert await memory.count_memories() == 0


async def test_the_queue_holds_numbers_only_and_keeps_nothing_that_ended(
    postgres_url: str,
) -> None:
    def queue(connection: Connection) -> list[Any]:
        connection.execute(text("RESET ROLE"))
        rows = connection.execute(text("SELECT args FROM waypost_queue.procrastinate_jobs"))
        return [row.args for row in rows]

    async with waypost.open(postgres_url) as engine:
        await engine.worker.close()
        memory = engine.agent("planner")
        await memory.add_memory("A secret.", source="xyzzy")
        asked = await memory.jobs.erase(source="xyzzy")
        (args,) = await engine.database.write(queue)
        assert args.keys() == {"number"}
    async with waypost.open(postgres_url) as engine:
        await engine.agent("planner").jobs.wait(asked.job_id)
        await engine.worker.close()
        assert await engine.database.write(queue) == []
        rows = await engine.database.read(lambda c: c.execute(jobs.select()).all())
        assert "xyzzy" not in repr(rows)


async def test_a_job_is_asked_for_with_the_data_or_not_at_all(postgres_url: str) -> None:
    from waypost.model import utc_now
    from waypost.store import jobs as rows

    def interrupted(connection: Connection) -> None:
        rows.ask(connection, "planner", JobKind.ERASE, "x", {"source": "x"}, utc_now())
        raise InterruptedError

    async with waypost.open(postgres_url) as engine:
        with pytest.raises(InterruptedError):
            await engine.database.write(interrupted, agent="planner")
        assert await engine.agent("planner").jobs.latest() == []
