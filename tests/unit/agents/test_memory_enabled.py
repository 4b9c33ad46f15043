"""An agent of your own with a memory around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripted_agents import (
    Librarian,
    lose_tables,
)
from waypost import MemoryManager
from waypost.agents import (
    MemoryEnabledAgent,
)


async def test_an_agent_of_your_own_gets_context_before_and_storage_after(
    memory: MemoryManager,
) -> None:
    agent = Librarian(memory)
    answer = await agent.answer("Where is the atlas?", tags=("books",))
    assert answer.response == "The atlas is on shelf 12."
    assert answer.memory_id is not None
    assert (await memory.get_memory(answer.memory_id)).tags == ("books",)
    again = await agent.answer("On which shelf is the atlas?")
    assert "shelf 12" in again.context
    assert agent.seen == again.context


async def test_an_agent_may_return_a_whole_interaction(memory: MemoryManager) -> None:
    answer = await Librarian(memory, project_id="library").answer("How do I reach it?")
    assert answer.response == "By ladder."
    stored = await memory.get_memory(answer.memory_id or "")
    assert stored.project_id == "library"
    assert stored.success is True


async def test_an_agents_own_failure_is_recorded_and_raised(memory: MemoryManager) -> None:
    with pytest.raises(RuntimeError, match="the shelf fell over"):
        await Librarian(memory).answer("Please crash.")
    [error] = await memory.get_error_history()
    assert (error.error_type, error.error_description) == ("RuntimeError", "the shelf fell over")


async def test_an_agent_answers_even_when_its_memory_fails(
    memory: MemoryManager, database_path: Path
) -> None:
    agent = Librarian(memory)
    lose_tables(database_path)
    answer = await agent.answer("Where is the atlas?")
    assert answer.response == "The atlas is on shelf 12."
    assert answer.memory_id is None
    assert any(reason.startswith("not stored: ") for reason in answer.degraded)


async def test_an_agent_without_its_own_answer_says_so(memory: MemoryManager) -> None:
    with pytest.raises(NotImplementedError, match="write process_query"):
        await MemoryEnabledAgent(memory).answer("Hello?")
