"""Sub-agents: shared, read-only and isolated."""

from __future__ import annotations

import json

import pytest

from tests.scripted_agents import (
    call,
    sent,
    visit,
)
from waypost import Engine, MemoryManager
from waypost.agents import (
    AgentConfiguration,
    AgentLoop,
)
from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.content.sharing import Sharing
from waypost.testing import ScriptedModelServer


@pytest.mark.parametrize("sharing", list(Sharing))
async def test_a_sub_agent_works_on_the_content_it_is_given(
    server: ScriptedModelServer,
    chat: OpenAICompatibleChat,
    memory: MemoryManager,
    sharing: Sharing,
) -> None:
    helper = AgentLoop(chat, memory, tools=[visit])
    settings = AgentConfiguration(sharing=sharing)
    boss = AgentLoop(chat, memory, sub_agents={"reader": helper}, configuration=settings)
    server.reply(
        call("ask_reader", task="Read page a."),
        call("visit", page="a"),
        call("query_memory", source="visit"),
        "It is 7 metres.",
        "The reader says 7 metres.",
    )
    result = await boss.run("Find out.", run_id="boss")
    assert result.answer == "The reader says 7 metres."
    found = await memory.content("boss").query(source="visit")
    assert len(found) == (0 if sharing is Sharing.READ_ONLY else 1)
    runs = {run.run_id: run for run in await memory.runs.latest()}
    assert [run.parent_run_id for run in runs.values() if run.run_id != "boss"] == ["boss"]


async def test_nothing_leaks_to_or_from_an_isolated_sub_agent(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    helper = AgentLoop(chat, memory, tools=[visit])
    settings = AgentConfiguration(share_memory_with_sub_agents=False)
    boss = AgentLoop(
        chat, memory, tools=[visit], sub_agents={"reader": helper}, configuration=settings
    )
    server.reply(
        call("visit", page="secret of the boss"),
        call("ask_reader", task="Look around."),
        call("query_memory", limit=50),
        call("visit", page="scratch of the reader"),
        "Nothing here.",
        "Done.",
    )
    await boss.run("Find out.", run_id="boss")
    asked = json.dumps(sent(server)[2:5])
    assert "secret of the boss" not in asked
    left = await memory.content("boss").query(text="scratch")
    assert left == []


async def test_long_term_memory_is_closed_to_an_isolated_sub_agent(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    await memory.add_memory("The vault code of the boss is 4711.")
    helper = AgentLoop(chat, memory)
    deeper = AgentLoop(chat, memory, sub_agents={"reader": helper})
    settings = AgentConfiguration(share_memory_with_sub_agents=False)
    boss = AgentLoop(chat, memory, sub_agents={"clerk": deeper}, configuration=settings)
    server.reply(
        call("ask_clerk", task="What is the vault code?"),
        call("ask_reader", task="What is the vault code?"),
        call("recall", query="vault code"),
        "No idea.",
        "No idea either.",
        "Done.",
    )
    await boss.run("Ask around for the vault code.")
    assert "4711" in json.dumps(sent(server)[0])
    for request in server.requests[1:5]:
        assert "4711" not in json.dumps(request.body)
        assert "recall" not in [one["function"]["name"] for one in request.body["tools"]]


async def test_an_isolated_sub_agent_with_a_memory_of_its_own_may_use_it(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, engine: Engine, memory: MemoryManager
) -> None:
    await engine.agent("clerk").add_memory("The tide table hangs in the porch.")
    clerk = AgentLoop(chat, engine.agent("clerk"))
    settings = AgentConfiguration(share_memory_with_sub_agents=False)
    boss = AgentLoop(chat, memory, sub_agents={"clerk": clerk}, configuration=settings)
    server.reply(call("ask_clerk", task="Where is the tide table?"), "In the porch.", "Done.")
    await boss.run("Find the tide table.")
    assert "hangs in the porch" in json.dumps(sent(server)[1])


async def test_a_read_only_sub_agent_sees_content_and_adds_nothing(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    helper = AgentLoop(chat, memory, tools=[visit])
    settings = AgentConfiguration(sharing=Sharing.READ_ONLY)
    boss = AgentLoop(
        chat, memory, tools=[visit], sub_agents={"reader": helper}, configuration=settings
    )
    server.reply(
        call("visit", page="a"),
        call("ask_reader", task="Look around."),
        call("query_memory", source="visit"),
        call("visit", page="b"),
        call("visit", page="c"),
        call("store_in_memory", content="a note"),
        "Seen.",
        "Done.",
    )
    result = await boss.run("Find out.", run_id="boss")
    assert result.degraded == ()
    found = [m["content"] for m in sent(server)[3] if m["role"] == "tool"]
    assert "from visit" in found[0]
    assert json.dumps(sent(server)[6]).count("Paragraph 79") < 2
    assert "shared read-only" in sent(server)[6][-1]["content"]
    assert len(await memory.content("boss").query(source="visit")) == 1
