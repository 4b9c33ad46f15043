"""The first steps with Waypost, in the order in which you would take them.

Read from top to bottom: each test shows one idea on a real memory, in a file and on a server.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import pytest

import waypost
from waypost import MemoryManager, MemoryType
from waypost.exceptions import InvalidInput, NotFound
from waypost.testing import HashEmbedder


async def test_what_was_said_can_be_asked_for(memory: MemoryManager) -> None:
    await memory.add_interaction("Which port does staging use?", "Staging listens on port 8443.")

    recall = await memory.retrieve_memories("How do I reach staging?")

    assert "8443" in recall[0].memory.content


async def test_a_memory_outlives_the_process(tmp_path: Path) -> None:
    async with waypost.open(tmp_path / "notes.db") as engine:
        await engine.agent("planner").add_memory("The build needs Python 3.11.")

    async with waypost.open(tmp_path / "notes.db") as engine:
        recall = await engine.agent("planner").retrieve_memories("Which Python?")

    assert recall[0].memory.content == "The build needs Python 3.11."


async def test_the_receipt_holds_the_record(memory: MemoryManager) -> None:
    stored = await memory.add_memory("Deploy with blue-green only.", kind="decision", tags=["ops"])

    assert stored.memory.kind == "decision"
    assert stored.memory.tags == ("ops",)
    assert stored.memory.token_count > 0
    assert await memory.get_memory(stored.memory_id) == stored.memory


async def test_an_interaction_also_teaches_facts(memory: MemoryManager) -> None:
    stored = await memory.add_interaction("Who signs off?", "The release manager is Ana.")

    assert stored.memory.type is MemoryType.EPISODIC
    assert "The release manager is Ana" in {fact.content.rstrip(".") for fact in stored.derived}


async def test_every_recalled_memory_says_why(memory: MemoryManager) -> None:
    await memory.add_memory("Never deploy on Fridays.", is_critical=True, criticality_reason="law")

    (found,) = await memory.retrieve_memories("May I deploy on Friday?")

    assert found.why.factors.criticality == 1.0
    assert 0.0 < found.why.factors.relevance <= 1.0
    assert {"text", "vector"} & {hit.route for hit in found.why.routes}


async def test_a_newer_fact_takes_the_place_of_an_older_one(memory: MemoryManager) -> None:
    ana = await memory.add_memory("The release manager is Ana.", kind="fact")
    bo = await memory.add_memory("The release manager is Bo.", kind="fact")

    recall = await memory.retrieve_memories("Who is the release manager?")

    assert bo.superseded == (ana.memory_id,)
    assert [found.memory_id for found in recall] == [bo.memory_id]


async def test_what_held_earlier_can_still_be_asked_for(memory: MemoryManager) -> None:
    january, february = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2))
    await memory.add_memory("The release manager is Ana.", kind="fact", timestamp=january)
    await memory.add_memory("The release manager is Bo.", kind="fact", timestamp=february)

    then = await memory.retrieve_memories(
        "Who is the release manager?", as_of=datetime(2026, 1, 15, tzinfo=UTC)
    )

    assert [found.memory.content for found in then] == ["The release manager is Ana."]


async def test_a_question_may_name_a_time_in_words(memory: MemoryManager) -> None:
    for month, text in ((4, "We chose PostgreSQL."), (5, "We chose Valkey.")):
        await memory.add_memory(text, timestamp=datetime(2026, month, 10, tzinfo=UTC))

    recall = await memory.retrieve_memories("What did we choose in May 2026?", k=1)

    assert recall[0].memory.content == "We chose Valkey."
    assert recall.time_range is not None


async def test_a_context_never_exceeds_its_budget(memory: MemoryManager) -> None:
    for number in range(50):
        await memory.add_memory(f"Server {number} runs service number {number * 7}.")

    context = await memory.get_relevant_context("What runs on server 12?", max_tokens=200)

    assert context.token_count <= 200
    assert "Server 12 runs service number 84." in context.text


async def test_the_same_key_stores_once(memory: MemoryManager) -> None:
    first = await memory.add_memory("Paid invoice 17.", idempotency_key="invoice-17")
    again = await memory.add_memory("Paid invoice 17.", idempotency_key="invoice-17")

    assert again.memory_id == first.memory_id
    assert again.duplicate
    assert await memory.count_memories() == 1


async def test_a_change_keeps_what_was_there_before(memory: MemoryManager) -> None:
    stored = await memory.add_memory("The backup runs at 02:00.")
    await memory.update_memory(stored.memory_id, content="The backup runs at 03:00.")

    added, changed = await memory.get_history(stored.memory_id)

    assert (added.operation, changed.operation) == ("add", "update")
    assert changed.before["content"] == "The backup runs at 02:00."


async def test_a_forgotten_memory_is_gone(memory: MemoryManager) -> None:
    stored = await memory.add_memory("The wifi password is swordfish.")
    await memory.forget_memory(stored.memory_id)

    with pytest.raises(NotFound):
        await memory.get_memory(stored.memory_id)
    assert len(await memory.retrieve_memories("wifi password")) == 0


async def test_a_contradiction_that_nothing_resolves_is_labelled(memory: MemoryManager) -> None:
    general = await memory.add_memory("The staging port is 8443.")
    special = await memory.add_memory("The staging port is 9000.", project_id="shop")

    recall = await memory.retrieve_memories("staging port", project_id="shop")

    assert [found.memory_id for found in recall] == [special.memory_id]
    assert recall[0].conflicts_with == (general.memory_id,)


async def test_an_agent_may_weigh_in_its_own_way(memory: MemoryManager) -> None:
    await memory.add_memory("The backup runs at 02:00.")
    await memory.set_profile(weights={"relevance": 1, "recency": 0, "frequency": 0, "stage": 0,
                                      "criticality": 0})  # fmt: skip

    (found,) = await memory.retrieve_memories("When does the backup run?")

    assert found.score == pytest.approx(found.why.factors.relevance)


async def test_an_outage_of_the_embedder_loses_nothing_and_is_said(tmp_path: Path) -> None:
    class Down(HashEmbedder):
        async def embed_documents(self, texts: object) -> NoReturn:
            raise ConnectionError("no route to host")

    async with waypost.open(tmp_path / "notes.db", embedder=Down()) as engine:
        memory = engine.agent("planner")
        stored = await memory.add_memory("The build needs Python 3.11.")
        recall = await memory.retrieve_memories("Which Python does the build need?")

    assert not stored.embedded
    assert recall[0].memory_id == stored.memory_id
    assert recall.degraded
    assert "no route to host" in recall.reasons[0]


async def test_agents_cannot_reach_each_other(tmp_path: Path) -> None:
    async with waypost.open(tmp_path / "notes.db") as engine:
        stored = await engine.agent("planner").add_memory("The plan is secret.")
        other = engine.agent("coder")

        assert len(await other.retrieve_memories("What is the plan?")) == 0
        with pytest.raises(NotFound):
            await other.get_memory(stored.memory_id)


async def test_mistakes_are_named(memory: MemoryManager) -> None:
    with pytest.raises(InvalidInput, match="colour"):
        await memory.add_memory("The sky is blue.", colour="blue")
    with pytest.raises(InvalidInput, match="time zone"):
        await memory.add_memory("It rained.", timestamp=datetime(2026, 1, 1))  # noqa: DTZ001
