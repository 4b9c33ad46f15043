from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from waypost.chat import ChatModel, ToolCall, chat_model_from_url
from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.chat.prices import NOTED, PRICES, Price, cost, price_of
from waypost.exceptions import InvalidInput, ProviderError, ProviderUnavailable
from waypost.resilience import RetryPolicy
from waypost.testing import ScriptedModelServer, garbage, status, truncated
from waypost.tokens import count_tokens

ASK = [{"role": "user", "content": "What was decided?"}]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}
ANSWER = '{"summary": "keep raw text"}'


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as running:
        yield running


@pytest.fixture
async def chat(server: ScriptedModelServer) -> AsyncIterator[OpenAICompatibleChat]:
    made = OpenAICompatibleChat(
        "gpt-4o-mini", base_url=server.base_url, retry=RetryPolicy(attempts=1)
    )
    yield made
    await made.aclose()


async def test_a_reply_says_what_it_is_and_what_it_took(
    server: ScriptedModelServer, chat: OpenAICompatibleChat
) -> None:
    server.reply("To keep raw text.")
    reply = await chat.complete(ASK, max_tokens=50)
    assert reply.text == "To keep raw text."
    assert (reply.tokens_in, reply.tokens_out) == (3, 4)
    assert (reply.model, reply.finish_reason) == ("gpt-4o-mini", "stop")
    assert server.requests[0].body["max_tokens"] == 50
    assert server.requests[0].body["temperature"] == 0.0


async def test_a_schema_is_sent_as_such_where_the_server_knows_it(
    server: ScriptedModelServer, chat: OpenAICompatibleChat
) -> None:
    server.reply(ANSWER)
    reply = await chat.complete(ASK, max_tokens=50, json_schema=SCHEMA)
    assert json.loads(reply.text) == {"summary": "keep raw text"}
    sent = server.requests[0].body["response_format"]
    assert sent["json_schema"] == {"name": "answer", "schema": SCHEMA, "strict": True}


@pytest.mark.parametrize(
    ("unsupported", "formats"),
    [
        (["json_schema"], ["json_schema", "json_object"]),
        (["response_format"], ["json_schema", "json_object", None]),
    ],
)
async def test_a_server_without_schemas_is_asked_in_weaker_ways_and_that_is_kept(
    unsupported: list[str], formats: list[str | None]
) -> None:
    with ScriptedModelServer(chat=lambda _: ANSWER, unsupported=unsupported) as server:
        chat = OpenAICompatibleChat("small", base_url=server.base_url)
        await chat.complete(ASK, max_tokens=50, json_schema=SCHEMA)
        await chat.complete(ASK, max_tokens=50, json_schema=SCHEMA)
        await chat.aclose()
    used = [(request.body.get("response_format") or {}).get("type") for request in server.requests]
    assert used == [*formats, formats[-1]]
    assert '"summary"' in server.requests[-1].body["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("refused", "replacement"),
    [("max_tokens", "max_completion_tokens"), ("temperature", None)],
)
async def test_a_refused_parameter_is_given_in_another_way(
    refused: str, replacement: str | None
) -> None:
    with ScriptedModelServer(unsupported=[refused]) as server:
        chat = OpenAICompatibleChat("o4-mini", base_url=server.base_url)
        await chat.complete(ASK, max_tokens=50)
        await chat.aclose()
    assert refused not in server.requests[-1].body
    assert replacement is None or server.requests[-1].body[replacement] == 50


async def test_a_refusal_that_asking_differently_cannot_help_is_raised(
    server: ScriptedModelServer, chat: OpenAICompatibleChat
) -> None:
    server.fail_always(status(400, "maximum context length is 8192 tokens"))
    with pytest.raises(ProviderError, match="context length"):
        await chat.complete(ASK, max_tokens=50, json_schema=SCHEMA)
    assert len(server.requests) == 1


async def test_a_server_that_refuses_everything_is_not_asked_for_ever(
    server: ScriptedModelServer, chat: OpenAICompatibleChat
) -> None:
    server.fail_always(status(400, "max_tokens and max_completion_tokens, temperature: no"))
    with pytest.raises(ProviderError, match="no"):
        await chat.complete(ASK, max_tokens=50, json_schema=SCHEMA)
    assert len(server.requests) <= 6


async def test_fences_and_introductions_around_json_are_removed(
    server: ScriptedModelServer, chat: OpenAICompatibleChat
) -> None:
    server.reply(f"Here you are:\n```json\n{ANSWER}\n```")
    reply = await chat.complete(ASK, max_tokens=50, json_schema=SCHEMA)
    assert reply.text == ANSWER


async def test_a_list_is_json_too(server: ScriptedModelServer, chat: OpenAICompatibleChat) -> None:
    server.reply('[{"a": 1}, {"b": 2}]')
    reply = await chat.complete(ASK, max_tokens=50, json_schema={"type": "array"})
    assert json.loads(reply.text) == [{"a": 1}, {"b": 2}]


async def test_tokens_are_counted_here_when_the_server_does_not_say() -> None:
    with ScriptedModelServer(usage=False) as server:
        server.reply("To keep raw text.")
        chat = OpenAICompatibleChat("local", base_url=server.base_url)
        reply = await chat.complete(ASK, max_tokens=50)
        await chat.aclose()
    assert reply.tokens_in == count_tokens("What was decided?")
    assert reply.tokens_out == count_tokens("To keep raw text.")


@pytest.mark.parametrize("text", ["", "I would rather not.", '{"summary": '])
async def test_text_where_json_was_asked_for_is_an_error(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, text: str
) -> None:
    server.reply(text)
    with pytest.raises(ProviderError, match="JSON was asked for"):
        await chat.complete(ASK, max_tokens=50, json_schema=SCHEMA)


async def test_a_cut_off_answer_is_returned_and_says_so(
    server: ScriptedModelServer, chat: OpenAICompatibleChat
) -> None:
    server.reply(ANSWER)
    server.fail(truncated())
    reply = await chat.complete(ASK, max_tokens=5, json_schema=SCHEMA)
    assert reply.truncated
    assert reply.text == ANSWER[: len(ANSWER) // 2]


async def test_tools_go_out_and_tool_calls_come_back(
    server: ScriptedModelServer, chat: OpenAICompatibleChat
) -> None:
    tool = {"type": "function", "function": {"name": "recall", "parameters": {}}}
    call = {"id": "c1", "type": "function", "function": {"name": "recall", "arguments": '{"k":1}'}}
    server.reply({"role": "assistant", "content": None, "tool_calls": [call]})
    reply = await chat.complete(ASK, max_tokens=50, tools=[tool])
    assert reply.tool_calls == (ToolCall("c1", "recall", '{"k":1}'),)
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")
    assert server.requests[0].body["tools"] == [tool]


async def test_a_refusing_model_is_an_error(
    server: ScriptedModelServer, chat: OpenAICompatibleChat
) -> None:
    server.reply({"role": "assistant", "content": None, "refusal": "I cannot help"})
    with pytest.raises(ProviderError, match="refused"):
        await chat.complete(ASK, max_tokens=50)


@pytest.mark.parametrize("fault", [garbage(), status(500), status(404)])
async def test_a_failing_server_is_an_error_and_never_an_empty_reply(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, fault: object
) -> None:
    server.fail(fault)  # type: ignore[arg-type]
    with pytest.raises(ProviderError):
        await chat.complete(ASK, max_tokens=50)


async def test_an_overloaded_server_is_unavailable(
    server: ScriptedModelServer, chat: OpenAICompatibleChat
) -> None:
    server.fail(status(529))
    with pytest.raises(ProviderUnavailable):
        await chat.complete(ASK, max_tokens=50)


async def test_a_wrong_key_is_reported_without_the_key() -> None:
    with ScriptedModelServer(api_key="right") as server:
        chat = OpenAICompatibleChat(base_url=server.base_url, api_key="sk-wrong-key")
        with pytest.raises(ProviderError, match="401") as caught:
            await chat.complete(ASK, max_tokens=5)
        await chat.aclose()
    assert "sk-wrong-key" not in str(caught.value)


async def test_max_tokens_must_be_positive(chat: OpenAICompatibleChat) -> None:
    with pytest.raises(InvalidInput, match="max_tokens"):
        await chat.complete(ASK, max_tokens=0)


async def test_an_address_picks_the_chat_model(server: ScriptedModelServer) -> None:
    chat = chat_model_from_url(f"openai+{server.base_url}?model=llama3")
    assert isinstance(chat, ChatModel)
    await chat.complete(ASK, max_tokens=5)
    await chat.aclose()
    assert server.models_named() == ["llama3"]


@pytest.mark.parametrize("address", ["openai:gpt-4o-mini", "other:model", "gpt-4o-mini"])
def test_an_address_that_cannot_work_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput):
        chat_model_from_url(address)


def test_cost_is_tokens_times_list_price() -> None:
    assert cost("gpt-4o-mini", 1_000_000, 500_000) == pytest.approx(0.15 + 0.30)
    assert cost("text-embedding-3-small", 2_000_000) == pytest.approx(0.04)
    assert price_of("gpt-4o-mini-2024-07-18") == PRICES["gpt-4o-mini"]
    assert PRICES["gpt-4.1"].noted == NOTED


def test_an_unknown_model_has_no_price_and_a_table_can_be_given() -> None:
    assert cost("own-model", 1_000) is None
    assert cost("own-model", 1_000_000, table={"own-model": Price(3.0, 6.0)}) == 3.0
