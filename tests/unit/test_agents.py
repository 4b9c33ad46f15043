"""Agents against a scripted model behind real HTTP."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import waypost
from waypost import Engine, Interaction, MemoryManager
from waypost.agents import (
    AgentConfiguration,
    AgentLoop,
    MemoryEnabledAgent,
    RunContext,
    Tool,
    tool,
)
from waypost.agents.outcome import Stopped
from waypost.agents.tools import ToolError
from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.content.messages import problems
from waypost.content.policy import Policy
from waypost.content.sharing import Sharing
from waypost.exceptions import InvalidInput
from waypost.resilience import RetryPolicy
from waypost.testing import ScriptedModelServer, status

PAGE = "\n\n".join(f"Paragraph {n}: the pier of house {n * 7} is {n} metres." for n in range(1, 80))


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as running:
        yield running


@pytest.fixture
async def chat(server: ScriptedModelServer) -> AsyncIterator[OpenAICompatibleChat]:
    model = OpenAICompatibleChat(
        "scripted", base_url=server.base_url, retry=RetryPolicy(attempts=1)
    )
    yield model
    await model.aclose()


@pytest.fixture
def database_path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def engine(database_path: Path) -> AsyncIterator[Engine]:
    async with waypost.open(str(database_path)) as opened:
        yield opened


@pytest.fixture
def memory(engine: Engine) -> MemoryManager:
    return engine.agent("worker")


def call(name: str, *, text: str | None = None, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    return {"role": "assistant", "content": text, "tool_calls": calls}


@tool
def visit(page: str) -> str:
    """Read a page."""
    if page == "missing":
        raise ToolError("there is no such page; there are a and b")
    return f"{page}\n{PAGE}"


@tool
def measure(run: RunContext, length: float, unit: str = "m") -> str:
    """Measure something for the application."""
    run.context.append((length, unit))
    return f"{length} {unit}"


def sent(server: ScriptedModelServer) -> list[list[dict[str, Any]]]:
    return [list(request.body["messages"]) for request in server.requests]


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


def bad_arguments() -> dict[str, Any]:
    return {"id": "x", "type": "function", "function": {"name": "visit", "arguments": "{page: a"}}


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


def lose_tables(path: Path) -> None:
    """Damage the database under the running engine, as a failing disk would."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in rows:
            if not name.startswith("sqlite_"):
                connection.execute(f"DROP TABLE {name}")
        connection.commit()


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


class Librarian(MemoryEnabledAgent):
    """Answers with what it was told, and fails on demand."""

    seen: str = ""

    async def process_query(self, query: str, context: str) -> str | Interaction:
        self.seen = context
        if "crash" in query:
            raise RuntimeError("the shelf fell over")
        if "how" in query.lower():
            return Interaction(query=query, response="By ladder.", success=True)
        return "The atlas is on shelf 12."


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
