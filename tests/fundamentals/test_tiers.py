"""Task, project and global memory, read top to bottom: what goes where, and how it moves up."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import waypost
from waypost import Engine, LinkKind, MemoryManager, Tier, TierSplit
from waypost.exceptions import Forbidden, InvalidInput, NotFound
from waypost.tiers.backends import InMemoryBackend


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with waypost.open(":memory:") as engine:
        yield engine


@pytest.fixture
def memory(engine: Engine) -> MemoryManager:
    return engine.agent("planner")


async def test_a_task_keeps_reasoning_and_tool_outputs(memory: MemoryManager) -> None:
    task = memory.task("migrate-ledger")
    thought = await task.add_reasoning("The ledger table has no primary key")
    output = await task.add_tool_output("psql", {"rows": 3, "table": "ledger"})
    assert [note.kind for note in await task.list_all()] == ["reasoning", "tool_output"]
    assert thought.tier is Tier.TASK
    assert (output.content, output.origin) == ('{"rows": 3, "table": "ledger"}', "tool")


async def test_when_a_task_ends_what_was_marked_is_promoted_and_the_rest_archived(
    memory: MemoryManager,
) -> None:
    task = memory.task("migrate-ledger", project_id="bank")
    await task.add_tool_output("ls", "a.sql b.sql")
    lesson = await task.add_reasoning("Always add the key before the copy")
    await task.mark_for_promotion(lesson.memory_id)

    assert await task.end() == 2

    assert await task.count() == 0
    kept = await memory.project("bank").list_all()
    assert [note.content for note in kept] == ["Always add the key before the copy"]
    assert len(await memory.archive.find({"task_id": "migrate-ledger"})) == 2


async def test_completing_a_task_ends_its_memory_and_its_summary_still_leads_to_it(
    memory: MemoryManager,
) -> None:
    await memory.start_task("Move the ledger", task_id="t", project_id="bank")
    task = memory.task("t")
    note = await task.add_reasoning("We decided to copy ledger 7 before the switch.")
    await task.add_tool_output("psql", "copied 4,812 rows")
    await task.mark_for_promotion(note.memory_id)

    done = await memory.complete_task("t", "moved")

    assert await task.count() == 0
    kept = await memory.project("bank").list_all()
    assert [(one.content, one.metadata["promoted_from"]["task_id"]) for one in kept] == [
        (note.content, "t")
    ]
    trail = await memory.expand_line("t", done.summary_lines[0].text)
    assert [one.memory_id for one in trail.memories] == list(done.summary_lines[0].source_ids)
    await memory.complete_task("t", "moved")
    assert await memory.project("bank").count() == 1


async def test_ending_a_task_leaves_what_was_said_in_it(memory: MemoryManager) -> None:
    await memory.add_interaction("Is the copy done?", "Yes, at noon.", task_id="t")
    await memory.task("t").add_reasoning("Check the copy")
    await memory.task("t").end()
    assert [note.kind for note in await memory.task("t").list_all()] == ["interaction"]


async def test_a_project_keeps_decisions_conventions_failures_and_patterns(
    memory: MemoryManager,
) -> None:
    project = memory.project("bank")
    await project.add_decision("Use PostgreSQL for the ledger", ["database"])
    await project.add_convention("Migrations are numbered, never dated", "sql")
    await project.add_failure("Deploy failed: disk full", "Check the disk first", code="E28")
    await project.add_pattern("Expand, migrate, contract", "schema changes")

    assert [d.content for d in await project.query_decisions(["database"])] == [
        "Use PostgreSQL for the ledger"
    ]
    assert await project.query_decisions(["frontend"]) == []
    assert "Lesson: Check the disk first" in (await project.query_failures())[0].content
    assert len(await project.query_conventions("sql")) == 1
    assert len(await project.query_patterns("schema changes")) == 1


async def test_what_cannot_be_stored_is_refused_with_a_reason(memory: MemoryManager) -> None:
    with pytest.raises(InvalidInput, match="content is empty"):
        await memory.project("bank").add_decision("  ")
    with pytest.raises(InvalidInput, match="project_id is empty"):
        memory.project("")
    with pytest.raises(InvalidInput, match="task_id"):
        memory.task("t" * 300)
    with pytest.raises(InvalidInput, match="max_items"):
        memory.project("bank", max_items=0)
    with pytest.raises(InvalidInput, match="colour"):
        await memory.project("bank").search("vault", colour="blue")
    note = await memory.add_memory("A note", project_id="bank")
    with pytest.raises(InvalidInput, match="not one of task, project, global"):
        await memory.promote(note.memory_id, "universe")
    assert (
        await memory.task("t").add_tool_output("ls", {"seen": {7}})
    ).content == '{"seen": "{7}"}'


async def test_what_a_view_takes_away_is_gone_from_working_memory_too(
    memory: MemoryManager,
) -> None:
    task = memory.task("t")
    first = await task.add_reasoning("The first thought")
    await task.add_reasoning("The second thought")
    assert await task.delete(first.memory_id) is True
    assert [one.content for one in await memory.get_working_memory("t")] == ["The second thought"]
    await task.clear()
    assert await memory.get_working_memory("t") == []


async def test_a_project_over_its_limit_archives_the_least_important_tenth(
    memory: MemoryManager,
) -> None:
    project = memory.project("bank", max_items=20)
    await project.add_pattern("A minor habit", "style")
    for number in range(20):
        await project.add_decision(f"Decision number {number}")
    contents = [note.content for note in await project.list_all()]
    assert len(contents) == 18
    assert "A minor habit" not in contents
    assert await memory.archive.count() == 3


async def test_projects_cannot_read_each_other_by_any_call(memory: MemoryManager) -> None:
    secret = (await memory.project("bank").add_decision("The vault opens at nine")).memory_id
    await memory.add_memory("The vault task detail", project_id="bank", task_id="t")
    shop = memory.project("shop")
    assert await shop.get(secret) is None
    assert await shop.delete(secret) is False
    assert await shop.list_all() == []
    assert await shop.count() == 0
    for attempt in (
        {"project_id": "bank"},
        {"$or": [{"project_id": "bank"}, {}]},
        {"tags": "project"},
    ):
        assert await shop.query(attempt) == []
        assert len(await shop.search("vault", where=attempt)) == 0
    assert len(await shop.search("vault opens at nine", project_id="bank")) == 0
    assert len(await shop.search("vault opens at nine", include_superseded=True)) == 0
    for context in (
        await memory.get_relevant_context("When does the vault open?", project_id="shop"),
        await memory.get_relevant_context("When does the vault open?", "a shop task"),
    ):
        assert "vault" not in context.text
    assert await memory.task("t", project_id="shop").list_all() == []
    with pytest.raises(Forbidden, match="cannot be read for project 'shop'"):
        await memory.get_relevant_context("vault", "t", project_id="shop")
    task_note = await memory.add_memory("For the bank", project_id="bank", task_id="t2")
    with pytest.raises(Forbidden, match="'bank' and cannot be promoted into project 'shop'"):
        await memory.promote(task_note.memory_id, project_id="shop")


async def test_global_memory_asks_before_it_remembers_a_preference(
    memory: MemoryManager,
) -> None:
    asked: list[str] = []

    async def decline(question: str) -> bool:
        asked.append(question)
        return False

    everywhere = memory.global_memory(confirmation_callback=decline)
    assert await everywhere.add_preference("Answer in Polish", "language") is None
    assert "Answer in Polish" in asked[0]
    assert await everywhere.count() == 0

    everywhere = memory.global_memory(confirmation_callback=lambda question: True)
    assert await everywhere.add_preference("Answer in Polish", "language") is not None
    assert len(await everywhere.query_preferences("language")) == 1


async def test_a_required_confirmation_without_anyone_to_ask_is_an_error(
    memory: MemoryManager,
) -> None:
    everywhere = memory.global_memory()
    with pytest.raises(InvalidInput, match="confirm"):
        await everywhere.add_preference("Be brief", "style", require_confirmation=True)
    with pytest.raises(InvalidInput, match="confirm"):
        await everywhere.clear_all()
    assert await everywhere.add_preference("Be brief", "style") is not None


async def test_clearing_global_memory_is_confirmed_and_can_be_undone(
    memory: MemoryManager,
) -> None:
    await memory.global_memory().add_pattern("Measure before tuning", "performance")
    assert (
        await memory.global_memory(confirmation_callback=lambda question: False).clear_all()
        is False
    )
    assert await memory.global_memory().count() == 1
    assert (
        await memory.global_memory(confirmation_callback=lambda question: True).clear_all() is True
    )
    assert await memory.global_memory().count() == 0
    await memory.restore()
    assert await memory.global_memory().count() == 1


async def test_promotion_climbs_one_tier_at_a_time_and_remembers_where_it_came_from(
    memory: MemoryManager,
) -> None:
    note = await memory.add_memory("Retries need jitter", task_id="t", project_id="bank")
    with pytest.raises(InvalidInput, match="one step at a time"):
        await memory.promote(note.memory_id, Tier.GLOBAL)

    in_project = (await memory.promote(note.memory_id)).memory
    everywhere = (await memory.promote(in_project.memory_id)).memory

    assert (in_project.tier, everywhere.tier) == (Tier.PROJECT, Tier.GLOBAL)
    assert everywhere.content == "Retries need jitter"
    assert everywhere.trust == note.memory.trust
    assert [(link.kind, link.target_id) for link in everywhere.links] == [
        (LinkKind.PARENT, in_project.memory_id)
    ]
    assert in_project.metadata["promoted_from"]["task_id"] == "t"
    with pytest.raises(InvalidInput, match="cannot be promoted further"):
        await memory.promote(everywhere.memory_id)


async def test_promoting_twice_makes_one_copy_and_undoing_takes_it_back(
    memory: MemoryManager,
) -> None:
    note = await memory.add_memory("Retries need jitter", project_id="bank")
    first = await memory.promote(note.memory_id)
    again = await memory.promote(note.memory_id)
    assert (again.duplicate, again.memory_id) == (True, first.memory_id)

    await memory.undo_promotion(first.memory_id)
    assert await memory.global_memory().count() == 0
    assert (await memory.get_memory(note.memory_id)).content == "Retries need jitter"
    with pytest.raises(InvalidInput, match="was not promoted"):
        await memory.undo_promotion(note.memory_id)


async def test_undoing_a_promotion_reopens_what_it_had_replaced(memory: MemoryManager) -> None:
    old = await memory.add_memory("The staging port is 8443.", kind="fact", type="semantic")
    new = await memory.add_memory(
        "The staging port is 9443.", kind="fact", type="semantic", project_id="bank"
    )
    promoted = await memory.promote(new.memory_id)
    assert promoted.superseded == (old.memory_id,)
    await memory.undo_promotion(promoted.memory_id)
    assert (await memory.get_memory(old.memory_id)).active


async def test_an_agent_cannot_promote_what_belongs_to_another(engine: Engine) -> None:
    note = await engine.agent("planner").add_memory("Mine", project_id="bank")
    with pytest.raises(NotFound):
        await engine.agent("stranger").promote(note.memory_id)


async def test_an_agent_may_learn_from_what_it_used_how_to_divide_its_budget(
    memory: MemoryManager,
) -> None:
    await memory.set_profile(context={"learn_split": True})
    await memory.project("bank").add_decision("The ledger moves by logical replication")
    await memory.task("t", project_id="bank").add_reasoning("The ledger has no key")
    assert (await memory.get_tier_split()).split == TierSplit()

    for _ in range(30):
        package = await memory.get_relevant_context("How does the ledger move?", "t")
        used = [item.entry_id for item in package.items if item.tier is Tier.PROJECT]
        learned = await memory.report_context_use(package.items, used)

    assert 0.4 < learned.split.project <= 0.6
    assert 0.2 <= learned.split.task < 0.4
    assert "30 reports" in learned.explanation
    later = await memory.get_relevant_context("How does the ledger move?", "t")
    assert later.split == learned.split
    asked = TierSplit(**{"task": 0.2, "project": 0.3, "global": 0.5})
    fixed = await memory.get_relevant_context("How does the ledger move?", "t", split=asked)
    assert fixed.split == asked


def test_a_light_backend_needs_no_engine_at_all() -> None:
    backend = InMemoryBackend()
    assert backend.query({"importance": {"$gte": 0.7}}, order_by="-importance", limit=5) == []
