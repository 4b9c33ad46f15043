"""Citations written by a chat model that knows the goal, with the plugins behind it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest

from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.content.citation import cite
from waypost.content.compaction import compact
from waypost.content.compaction.by_model import compact_by_model
from waypost.content.material import material_of
from waypost.resilience import RetryPolicy
from waypost.testing import (
    Fault,
    ScriptedModelServer,
    cut_off,
    garbage,
    hang,
    rate_limited,
    refuse,
    status,
    truncated,
)

LOG = material_of(
    "\n".join(f"2026-01-01 10:00:{n % 60:02d} INFO ship {n} passed lock-77" for n in range(300)),
    source="read_log",
)
ANSWER = {"summary": "Ships passed the lock.", "facts": ["300 ships", "none was late"]}


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as running:
        yield running


@pytest.fixture
async def chat(server: ScriptedModelServer) -> AsyncIterator[OpenAICompatibleChat]:
    retry = RetryPolicy(attempts=1)
    model = OpenAICompatibleChat("cheap", base_url=server.base_url, retry=retry, timeout=0.5)
    yield model
    await model.aclose()


async def test_the_model_is_told_the_goal_and_its_answer_becomes_the_citation(
    server: ScriptedModelServer, chat: OpenAICompatibleChat
) -> None:
    server.reply(json.dumps(ANSWER))
    compacted = await compact_by_model(chat, LOG, goal="Find late ships.", prompt="Be brief.")
    system, question = server.requests[0].body["messages"]
    assert system["content"] == "Be brief."
    assert question["content"].startswith("Goal: Find late ships.\nTool: read_log\n")
    assert compacted.lines == ("Ships passed the lock.", "- 300 ships", "- none was late")
    citation = cite("c-k7m2x", LOG, token_count=9000, compacted=compacted).text
    assert "kept what cheap found relevant" in citation
    assert "lock-77" in citation, "names that the model left out are listed all the same"


@pytest.mark.parametrize(
    "fault", [hang(), garbage(), cut_off(), refuse(), status(500), rate_limited(), truncated()]
)
async def test_a_model_that_fails_gives_way_to_the_plugin(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, fault: Fault
) -> None:
    server.reply(json.dumps(ANSWER))
    server.fail(fault)
    assert await compact_by_model(chat, LOG, goal="Find late ships.") == compact(LOG)


@pytest.mark.parametrize("answer", ["[]", '{"facts": []}', '{"summary": 3, "facts": []}', "{}"])
async def test_an_answer_of_another_shape_gives_way_to_the_plugin(
    server: ScriptedModelServer, chat: OpenAICompatibleChat, answer: str
) -> None:
    server.reply(answer)
    assert await compact_by_model(chat, LOG, goal="Find late ships.") == compact(LOG)


async def test_bytes_are_never_sent_to_the_model(
    server: ScriptedModelServer, chat: OpenAICompatibleChat
) -> None:
    image = material_of(b"\x89PNG\r\n\x1a\n\x00\x00")
    assert (await compact_by_model(chat, image, goal="Look.")).what == "PNG image"
    assert server.requests == []
