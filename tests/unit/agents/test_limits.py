"""Limits, time-outs, failing models and failing memories."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import waypost
from tests.scripted_agents import (
    Asleep,
    Librarian,
    call,
    lose_tables,
    sent,
    visit,
)
from waypost import MemoryManager
from waypost.agents import (
    AgentConfiguration,
    AgentLoop,
    tool,
)
from waypost.agents.outcome import Stopped
from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.content.policy import Policy
from waypost.content.sharing import Sharing
from waypost.exceptions import InvalidInput
from waypost.testing import ScriptedModelServer, status
from waypost.tokens import count_tokens


async def test_limits_end_a_run(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    server.reply(*[call("visit", page="a", text="Still looking.") for _ in range(9)])
    steps = AgentConfiguration(max_steps=3)
    result = await AgentLoop(chat, memory, tools=[visit], configuration=steps).run("Read.")
    assert (result.stopped, result.steps) == (Stopped.STEP_LIMIT, 3)
    assert result.answer == "Still looking."
    tokens = AgentConfiguration(max_tokens=500)
    result = await AgentLoop(chat, memory, tools=[visit], configuration=tokens).run("Read.")
    assert result.stopped is Stopped.TOKEN_LIMIT
    budget = AgentConfiguration(policy=Policy(budget_tokens=5))
    result = await AgentLoop(chat, memory, configuration=budget).run("Read all of it.")
    assert result.stopped is Stopped.OVER_BUDGET


async def test_a_failing_model_ends_the_run_with_a_reason(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    server.reply(call("visit", page="a"))
    server.fail_always(status(401, "wrong key"))
    result = await AgentLoop(chat, memory, tools=[visit]).run("Read.")
    assert result.stopped is Stopped.MODEL_FAILED
    assert "wrong key" in result.problems[0]
    assert (await memory.runs.latest())[0].ended_at is not None


async def test_a_memory_that_fails_never_stops_a_run(
    server: ScriptedModelServer,
    chat: OpenAICompatibleChat,
    memory: MemoryManager,
    database_path: Path,
) -> None:
    loop = AgentLoop(chat, memory, tools=[visit])
    lose_tables(database_path)
    server.reply(call("visit", page="a"), call("visit", page="b"), "49 m")
    result = await loop.run("How long is the pier?")
    assert result.answer == "49 m"
    assert result.degraded
    assert json.dumps(sent(server)[2]).count("Paragraph 79") == 2


async def test_a_tool_that_takes_too_long_is_an_error_like_any_other(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    @tool
    async def wait() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return "never"

    @tool
    def refuse() -> str:
        """Run into a time-out of its own."""
        raise TimeoutError("the printer is off")

    server.reply(call("wait"), call("refuse"), "I give up.")
    settings = AgentConfiguration(tool_seconds=0.05)
    loop = AgentLoop(chat, memory, tools=[wait, refuse], configuration=settings)
    result = await loop.run("Wait.")
    assert result.problems == (
        "wait: Error: wait took longer than 0.05 s",
        "refuse: Error: TimeoutError: the printer is off",
    )


async def test_a_tool_may_return_a_stream_of_any_size(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    @tool
    async def dump() -> AsyncIterator[bytes]:
        """Read the whole log."""
        return lines()

    async def lines() -> AsyncIterator[bytes]:
        for n in range(60_000):
            yield b"line %d of the log\n" % n

    server.reply(call("dump"), "read")
    result = await AgentLoop(chat, memory, tools=[dump]).run("Read the log.", run_id="r")
    assert result.degraded == ()
    shown = sent(server)[1][-1]["content"]
    assert shown.startswith("line 0 of the log")
    assert shown.endswith("line 59999 of the log\n")
    assert count_tokens(shown) <= Policy().show_tokens
    [item] = await memory.content("r").query(source="dump")
    assert item.size == 1_308_890


async def test_a_stream_that_breaks_is_an_error_of_the_tool(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    @tool
    def dump() -> Iterator[Any]:
        """Read numbers."""
        return iter([1, 2])

    server.reply(call("dump"), "no")
    result = await AgentLoop(chat, memory, tools=[dump]).run("Read the log.")
    assert "a stream has pieces of bytes or text, not int" in sent(server)[1][-1]["content"]
    assert result.answer == "no"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_steps": 0}, "max_steps is at least 1"),
        ({"max_tokens": -5}, "max_tokens is at least 1"),
        ({"tool_seconds": 0}, "tool_seconds is more than 0"),
        ({"sharing": "open"}, "'open' is none of shared, read_only, isolated"),
        ({"stage": "dreaming"}, "'dreaming' is none of planning"),
    ],
)
def test_wrong_settings_are_refused_with_the_right_ones(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        AgentConfiguration(**settings)


def test_a_setting_may_be_given_by_its_word() -> None:
    settings: dict[str, Any] = {"sharing": "read_only", "stage": "planning"}
    assert AgentConfiguration(**settings).sharing is Sharing.READ_ONLY


async def test_a_memory_that_hangs_never_stops_a_run(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, tmp_path: Path
) -> None:
    server.reply(call("visit", page="a"), "49 m")
    hurried = AgentConfiguration(memory_seconds=0.2, context_tokens=500)
    async with waypost.open(str(tmp_path / "m.db"), embedder=Asleep()) as engine:
        memory = engine.agent("worker")
        result = await AgentLoop(chat, memory, tools=[visit], configuration=hurried).run("Read.")
        slow = Librarian(memory, memory_seconds=0.2)
        answer = await slow.answer("Where is the atlas?")
    assert result.answer == "49 m"
    assert "no context: no answer within 0.2 s" in result.degraded
    assert answer.response == "The atlas is on shelf 12."
    assert "no context: no answer within 0.2 s" in answer.degraded
