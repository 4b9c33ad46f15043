"""Tools made of functions."""

from __future__ import annotations

import pytest

from tests.scripted_agents import (
    measure,
    visit,
)
from waypost import MemoryManager
from waypost.agents import (
    AgentLoop,
    RunContext,
    Tool,
    tool,
)
from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.exceptions import InvalidInput


def test_tools_describe_themselves_by_their_signature() -> None:
    assert measure.parameters["properties"]["length"]["type"] == "number"
    assert measure.parameters["required"] == ["length"]
    assert "run" not in measure.parameters["properties"]
    assert measure.schema()["function"]["description"] == "Measure something for the application."


def test_a_tool_without_words_or_types_is_refused() -> None:
    def silent(a: int) -> int:
        return a

    def untyped(a) -> None:  # type: ignore[no-untyped-def]
        """Say."""

    with pytest.raises(InvalidInput, match="docstring"):
        tool(silent)
    with pytest.raises(InvalidInput, match="needs a type"):
        tool(untyped)


async def test_two_tools_of_one_name_and_an_empty_goal_are_refused(
    chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    with pytest.raises(InvalidInput, match="same name"):
        AgentLoop(chat, memory, tools=[visit, visit])
    with pytest.raises(InvalidInput, match="goal is empty"):
        await AgentLoop(chat, memory).run("  ")


async def test_a_tool_that_crashes_is_an_outcome_too() -> None:
    def crash(n: int) -> float:
        """Divide."""
        return 1 / n

    outcome = await tool(crash).run({"n": 0}, RunContext())
    assert outcome.is_error
    assert outcome.content == "Error: ZeroDivisionError: division by zero"


def test_tool_is_a_value() -> None:
    assert isinstance(visit, Tool)
