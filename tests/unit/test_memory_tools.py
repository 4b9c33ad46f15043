"""The memory as tools: schemas for both APIs, and an executor that explains every mistake."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from anthropic.types import ToolParam
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionToolParam
from pydantic import TypeAdapter

import waypost
from waypost.content.tool_schemas import ALL_TOOLS, anthropic_tools, json_schema, openai_tools
from waypost.content.tools import ToolExecutor


@pytest.fixture
async def tools() -> AsyncIterator[ToolExecutor]:
    async with waypost.open(":memory:") as engine:
        memory = engine.agent("clerk")
        yield ToolExecutor(memory.content("run"), memory)


def test_the_schemas_are_those_of_the_official_clients() -> None:
    TypeAdapter(list[ChatCompletionToolParam]).validate_python(openai_tools())
    TypeAdapter(list[ToolParam]).validate_python(anthropic_tools())
    assert [one["name"] for one in anthropic_tools()] == list(ALL_TOOLS)
    assert [one["function"]["name"] for one in openai_tools(with_memory=False)] == [
        "store_in_memory",
        "retrieve_from_memory",
        "query_memory",
    ]


@pytest.mark.parametrize("name", list(ALL_TOOLS))
def test_a_schema_stands_alone_and_describes_every_argument(name: str) -> None:
    schema = json_schema(name)
    text = json.dumps(schema)
    assert "$ref" not in text
    assert "anyOf" not in text
    assert schema["additionalProperties"] is False
    assert all(field["description"] and field["type"] for field in schema["properties"].values())


def test_all_schemas_together_cost_little() -> None:
    assert waypost.count_tokens(json.dumps(openai_tools())) < 1200


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("retrieve", "{}", "There is no tool 'retrieve'; use store_in_memory"),
        ("retrieve_from_memory", "{id: c-1}", "the arguments are not JSON"),
        ("retrieve_from_memory", "[1]", "the arguments are a JSON object, not list"),
        ("retrieve_from_memory", "{}", "id: Field required. It takes id; optional: transform"),
        ("retrieve_from_memory", {"id": "page"}, "is not a content id; one looks like c-"),
        ("retrieve_from_memory", {"id": "c-22224"}, "wrong character"),
        ("retrieve_from_memory", {"id": "c-22222"}, "nothing is stored here"),
        ("retrieve_from_memory", {"id": "c-22222", "transform": "all"}, "'full', 'excerpt'"),
        ("retrieve_from_memory", {"id": "c-22222", "page": 2}, "page: is not an argument"),
        ("query_memory", {"limit": 0}, "limit: "),
        ("query_memory", {"type": "page"}, "'action_result'"),
        ("store_in_memory", {"content": ""}, "content: "),
        ("remember", {"content": "x", "tags": "a"}, "tags: "),
        ("recall", {"k": 3}, "query: Field required"),
    ],
)
async def test_a_wrong_call_is_answered_with_what_would_be_right(
    tools: ToolExecutor, name: str, arguments: Any, said: str
) -> None:
    answer = await tools.run(name, arguments)
    assert answer.is_error
    assert said in answer.text


async def test_wrong_parameters_of_a_transform_are_explained(tools: ToolExecutor) -> None:
    stored = await tools.run("store_in_memory", {"content": "a,b\n1,2\n3,4"})
    for arguments, said in (
        ({"transform": "filtered"}, "exactly one of path, regex, columns or question"),
        ({"transform": "first_n", "question": "what?"}, "its parameters are max_tokens, n, unit"),
        ({"columns": ["c"]}, "no column 'c'; there are a, b"),
        ({"regex": "("}, "is not a regular expression"),
        ({"path": "x"}, "a path needs JSON"),
    ):
        answer = await tools.run("retrieve_from_memory", {"id": stored.content_id, **arguments})
        assert answer.is_error
        assert said in answer.text


async def test_nothing_found_is_an_answer_not_an_error(tools: ToolExecutor) -> None:
    for name, arguments in (("query_memory", {"text": "x"}), ("recall", {"query": "x"})):
        answer = await tools.run(name, arguments)
        assert not answer.is_error
        assert answer.text


async def test_without_a_long_term_memory_its_tools_are_not_there(tools: ToolExecutor) -> None:
    async with waypost.open(":memory:") as engine:
        alone = ToolExecutor(engine.agent("clerk").content("run"))
        assert "recall" not in alone.names
        assert (await alone.run("recall", {"query": "x"})).is_error


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)
_NAMES = st.sampled_from(["id", "transform", "question", "regex", "path", "n", "unit", "text", "k"])


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(list(ALL_TOOLS)), st.dictionaries(_NAMES, _VALUES) | st.text(max_size=30))
def test_no_arguments_make_the_executor_fail(name: str, arguments: Any) -> None:
    import asyncio

    async def run() -> None:
        async with waypost.open(":memory:") as engine:
            memory = engine.agent("clerk")
            answer = await ToolExecutor(memory.content("run"), memory).run(name, arguments)
            assert isinstance(answer.text, str)

    asyncio.run(run())
