"""Runs of an agent against a scripted model behind real HTTP."""

from __future__ import annotations

import json
from typing import Any

from tests.scripted_agents import (
    PAGE,
    bad_arguments,
    call,
    measure,
    sent,
    visit,
)
from waypost import MemoryManager
from waypost.agents import (
    AgentConfiguration,
    AgentLoop,
)
from waypost.agents.outcome import Stopped
from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.content.messages import problems
from waypost.testing import ScriptedModelServer


async def test_a_run_shows_each_result_once_and_answers(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    server.reply(call("visit", page="a"), call("visit", page="b"), call("visit", page="c"), "49 m")
    result = await AgentLoop(chat, memory, tools=[visit]).run("How long is the pier?", run_id="r")
    assert result.answer == "49 m"
    assert result.stopped is Stopped.ANSWERED
    assert result.steps == 4
    prompts = sent(server)
    assert prompts[1][-1]["content"] == f"a\n{PAGE}"
    assert prompts[2][-1]["content"] == f"b\n{PAGE}"
    assert f"a\n{PAGE}" not in json.dumps(prompts[2])
    assert all(not problems(messages) for messages in prompts)


async def test_what_was_sent_can_be_replayed_byte_for_byte(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    server.reply(*[call("visit", page=str(n)) for n in range(6)], "done")
    await AgentLoop(chat, memory, tools=[visit]).run("Read.", run_id="r")
    for step, messages in enumerate(sent(server), 1):
        assert json.dumps(await memory.runs.messages_at("r", step)) == json.dumps(messages)


async def test_a_cited_result_can_be_opened_again(memory: MemoryManager) -> None:
    def reopen(body: Any) -> Any:
        last = body["messages"][-1]["content"]
        cited = [m["content"] for m in body["messages"] if (m["content"] or "").startswith("[c-")]
        if not cited:
            return last
        identifier = cited[0][1:].split("]")[0]
        return (
            call("retrieve_from_memory", id=identifier, regex="house 49 ") if PAGE in last else last
        )

    with ScriptedModelServer(chat=reopen) as server:
        server.reply(call("visit", page="a"), call("visit", page="b"))
        chat = OpenAICompatibleChat("scripted", base_url=server.base_url)
        result = await AgentLoop(chat, memory, tools=[visit]).run("How long is it at house 49?")
        await chat.aclose()
    assert "the pier of house 49 is 7 metres" in result.answer


async def test_a_failing_tool_is_told_to_the_model_and_recorded(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    server.reply(
        call("visit", page="missing"),
        call("visit", pages=3),
        call("fly"),
        {"role": "assistant", "content": None, "tool_calls": [bad_arguments()]},
        "I give up.",
    )
    result = await AgentLoop(chat, memory, tools=[visit]).run("Read the missing page.")
    told = [message["content"] for message in sent(server)[-1] if message["role"] == "tool"]
    assert "there is no such page" in told[0]
    assert "it takes page" in told[1]
    assert "there is no tool 'fly'" in told[2]
    assert "not a JSON object" in told[3]
    assert len(result.problems) == 4
    assert len(await memory.get_error_history()) == 4


async def test_the_payload_is_shown_changed_and_returned(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    server.reply(call("update_payload", changes={"length": 49}), "done")
    result = await AgentLoop(chat, memory).run("Fill it in.", payload={"house": 7, "length": None})
    assert '"house": 7' in sent(server)[0][1]["content"]
    assert result.payload == {"house": 7, "length": 49}


async def test_tools_get_the_context_that_the_model_never_sees(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    server.reply(call("measure", length=3), "done")
    secret: list[Any] = ["application secret"]
    await AgentLoop(chat, memory, tools=[measure]).run("Measure.", context=secret)
    assert secret[1:] == [(3.0, "m")]
    assert "application secret" not in json.dumps(sent(server))


async def test_memory_of_an_earlier_run_is_context_of_the_next(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    loop = AgentLoop(chat, memory, tools=[visit])
    server.reply("The pier of house 49 is 7 metres long.")
    await loop.run("How long is the pier of house 49?")
    server.reply("7 metres, as before.")
    await loop.run("Tell me about the pier of house 49.")
    assert "7 metres long" in sent(server)[1][1]["content"]


async def test_without_memory_nothing_is_kept_or_compacted(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    server.reply(call("visit", page="a"), call("visit", page="b"), call("visit", page="c"), "done")
    settings = AgentConfiguration(enable_memory=False)
    await AgentLoop(chat, memory, tools=[visit], configuration=settings).run("Read.")
    assert json.dumps(sent(server)[3]).count("Paragraph 79") == 3
    names = [t["function"]["name"] for t in server.requests[0].body["tools"]]
    assert names == ["visit"]
    assert await memory.count_memories() == 0
    assert await memory.content().query() == []
    assert await memory.runs.latest() == []


async def test_a_run_keeps_the_model_and_the_tools_it_was_offered(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    await AgentLoop(chat, memory, tools=[visit]).run("Read.", run_id="r")
    kept = (await memory.runs.get("r")).settings
    assert kept["model"] == "scripted"
    assert kept["tools"] == server.requests[0].body["tools"]


async def test_a_run_of_a_task_works_in_a_stage_and_completes_it(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    server.reply(call("visit", page="a"), "It is 7 metres long.")
    await AgentLoop(chat, memory, tools=[visit]).run("Measure the pier.", task_id="pier")
    [stage] = await memory.stages.list_stages("pier")
    assert stage.stage_type.value == "execution"
    assert stage.completed_at is not None


async def test_the_model_writes_citations_when_asked_and_plugins_when_it_fails(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    answer = {"summary": "Pier lengths by house.", "facts": ["house 49: 7 metres"]}
    server.reply(
        call("visit", page="a"), json.dumps(answer), call("visit", page="b"), "not JSON", "done"
    )
    settings = AgentConfiguration(use_compaction_llm=True, compaction_prompt="Be brief.")
    loop = AgentLoop(chat, memory, tools=[visit], configuration=settings)
    await loop.run("How long is the pier at house 49?")
    prompts = sent(server)
    assert prompts[1][0]["content"] == "Be brief."
    assert "How long is the pier at house 49?" in prompts[1][1]["content"]
    assert "house 49: 7 metres" in json.dumps(prompts[4])


async def test_a_run_that_is_continued_numbers_its_steps_on(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    loop = AgentLoop(chat, memory, tools=[visit])
    server.reply(call("visit", page="a"), "first")
    await loop.run("Read a.", run_id="r")
    server.reply(call("visit", page="b"), "second")
    result = await loop.run("Read b.", run_id="r")
    assert result.steps == 2
    assert (await memory.runs.get("r")).steps == 4
    for step, messages in enumerate(sent(server), 1):
        assert await memory.runs.messages_at("r", step) == messages


async def test_what_a_memory_tool_answered_is_cited_like_any_result(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, memory: MemoryManager
) -> None:
    server.reply(
        *[call("visit", page=str(n)) for n in range(6)],
        call("query_memory", text="pier"),
        call("query_memory", text="pier"),
        call("visit", page="z"),
        "done",
    )
    await AgentLoop(chat, memory, tools=[visit]).run("Read.", run_id="r")
    listed = sent(server)[7][-1]["content"]
    assert listed.count("from visit") == 6
    assert sent(server)[8][-1]["content"] == listed
    assert listed not in json.dumps(sent(server)[9], ensure_ascii=False)
