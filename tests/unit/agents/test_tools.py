"""Tools made of functions."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import waypost
from tests.scripted_agents import measure, visit
from waypost import MemoryManager
from waypost.agents import AgentLoop, MemoryEnabledAgent, RunContext, Tool, tool
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


async def test_a_memory_on_a_server_is_refused_with_what_works(chat: OpenAICompatibleChat) -> None:
    claims = base64.urlsafe_b64encode(b'{"sub": "clerk"}').decode()
    token = f"x.{claims}.x"
    remote: Any = waypost.Client("http://127.0.0.1:9", token=token).agent("clerk")
    with pytest.raises(InvalidInput, match="use MemoryEnabledAgent"):
        AgentLoop(chat, remote)
    assert MemoryEnabledAgent(remote).memory is remote


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
