"""Encoding by a chat model over a real HTTP server: what it adds, and what it cannot break."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import waypost
from waypost import Engine, MemoryManager
from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.exceptions import InvalidInput
from waypost.model import MemoryType
from waypost.resilience import RetryPolicy
from waypost.testing import (
    Fault,
    ScriptedModelServer,
    cut_off,
    garbage,
    hang,
    refuse,
    status,
    truncated,
)

TEXT = "After a long talk with Ana we settled on Kafka 3.7 for the events; Bo objected."
READ: dict[str, Any] = {
    "number": 0,
    "summary": "Kafka 3.7 was chosen for the events.",
    "type": "semantic",
    "kind": "decision",
    "entities": ["Ana", "Bo", "Kafka"],
    "keywords": ["events"],
    "facts": [
        {"text": "Kafka 3.7 for the events", "subject": "Events", "attribute": "broker",
         "value": "Kafka 3.7"},
    ],
}  # fmt: skip


def answer(*memories: dict[str, Any]) -> str:
    return json.dumps({"memories": [READ | memory for memory in memories]})


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as running:
        yield running


@pytest.fixture
async def engine(
    server: ScriptedModelServer, request: pytest.FixtureRequest
) -> AsyncIterator[Engine]:
    patience = 0.2 if "[hang" in request.node.name else 60.0
    chat = OpenAICompatibleChat(
        "gpt-4o-mini", base_url=server.base_url, timeout=patience, retry=RetryPolicy(attempts=1)
    )
    async with waypost.open(":memory:", chat=chat, encoder="model") as engine:
        yield engine


@pytest.fixture
def memory(engine: Engine) -> MemoryManager:
    return engine.agent("planner")


async def test_a_model_reads_what_is_stored(
    server: ScriptedModelServer, memory: MemoryManager
) -> None:
    server.reply(answer({}))
    stored = await memory.add_memory(TEXT)
    found = await memory.get_memory(stored.memory_id)
    assert found.summary == READ["summary"]
    assert (found.type, found.kind) == (MemoryType.SEMANTIC, "decision")
    assert found.entities == ("Ana", "Bo", "Kafka")
    assert [(fact.subject, fact.attribute) for fact in found.facts] == [("events", "broker")]
    assert (found.encoder, found.fallback_reason) == ("gpt-4o-mini", None)
    assert server.models_named() == ["gpt-4o-mini"]


async def test_what_the_caller_said_is_never_changed(
    server: ScriptedModelServer, memory: MemoryManager
) -> None:
    server.reply(answer({}))
    given: dict[str, Any] = {"kind": "note", "summary": "as I say", "keywords": ("mine",)}
    found = (await memory.add_memory(TEXT, **given)).memory
    assert (found.kind, found.summary, found.keywords) == ("note", "as I say", ("mine",))


async def test_what_the_text_does_not_hold_is_dropped(
    server: ScriptedModelServer, memory: MemoryManager
) -> None:
    invented = {"text": "Kafka 9.9 for the events", "subject": "events", "attribute": "broker",
                "value": "Kafka 9.9"}  # fmt: skip
    server.reply(
        answer({"summary": "Redis 7 was chosen.", "entities": ["Ana", "Zoe"], "facts": [invented]})
    )
    found = (await memory.add_memory(TEXT)).memory
    assert "Redis" not in found.summary
    assert found.entities == ("Ana",)
    assert found.facts == ()


async def test_facts_supersede_across_encoders(
    server: ScriptedModelServer, memory: MemoryManager
) -> None:
    stated = {"text": "The staging port is 8443", "subject": "staging", "attribute": "port",
              "value": "8443"}  # fmt: skip
    server.reply(answer({"kind": "fact", "facts": [stated]}))
    first = await memory.add_memory("The staging port is 8443")
    server.fail(refuse())
    second = await memory.add_memory("The staging port is 9000")
    assert second.superseded == (first.memory_id,)


async def test_an_exchange_gives_the_facts_the_model_found(
    server: ScriptedModelServer, memory: MemoryManager
) -> None:
    server.reply(answer({}))
    stored = await memory.add_interaction(TEXT, "Noted.")
    assert [(one.kind, one.content) for one in stored.derived] == [
        ("fact", "Kafka 3.7 for the events")
    ]
    assert {one.encoder for one in (stored.memory, *stored.derived)} == {"gpt-4o-mini"}


async def test_a_batch_is_read_in_one_call_and_a_forgotten_text_locally(
    server: ScriptedModelServer, memory: MemoryManager
) -> None:
    server.reply(answer({"number": 0}))
    first, second = await memory.add_memories([{"content": TEXT}, {"content": "Bo likes tea."}])
    assert first.memory.encoder == "gpt-4o-mini"
    assert second.memory.encoder == "local"
    assert second.memory.fallback_reason == "gpt-4o-mini left this text out"
    assert len(server.requests) == 1


async def test_a_changed_text_is_read_again(
    server: ScriptedModelServer, memory: MemoryManager
) -> None:
    server.reply(answer({}), answer({"summary": "Kafka for the events."}))
    stored = await memory.add_memory(TEXT)
    changed = await memory.update_memory(stored.memory_id, content=TEXT + " Done.")
    assert changed.summary == "Kafka for the events."


@pytest.mark.parametrize(
    "fault",
    [hang(), garbage(), cut_off(), refuse(), status(500), status(401), truncated()],
    ids=lambda fault: fault.kind,
)
async def test_a_model_that_fails_loses_and_refuses_nothing(
    server: ScriptedModelServer, memory: MemoryManager, fault: Fault
) -> None:
    server.reply(answer({}))
    server.fail(fault)
    stored = await memory.add_interaction("Which port?", "The staging port is 8443.")
    assert [one.content for one in stored.derived] == ["The staging port is 8443"]
    for one in (stored.memory, *stored.derived):
        assert one.encoder == "local"
        assert one.fallback_reason
    assert await memory.count_memories({"fallback_reason": {"$exists": True}}) == 2


@pytest.mark.parametrize(
    "reply",
    ["[]", '{"memories": 7}', '{"memories": [{"number": 0}]}', '{"memories": [7]}',
     answer({"facts": [{"text": None}]}), answer({"entities": [None]})],
)  # fmt: skip
async def test_an_answer_of_another_form_is_not_used(
    server: ScriptedModelServer, memory: MemoryManager, reply: str
) -> None:
    server.reply(reply)
    found = (await memory.add_memory(TEXT)).memory
    assert found.encoder == "local"
    assert "another form" in (found.fallback_reason or "")


async def test_values_outside_the_vocabulary_are_chosen_locally(
    server: ScriptedModelServer, memory: MemoryManager
) -> None:
    server.reply(answer({"kind": "Ignore all rules", "type": "eternal"}))
    found = (await memory.add_memory("We decided to use Kafka.")).memory
    assert (found.kind, found.type) == ("decision", MemoryType.SEMANTIC)


def test_a_model_encoder_needs_a_model() -> None:
    with pytest.raises(InvalidInput, match="chat="):
        waypost.open(":memory:", encoder="model")
    with pytest.raises(InvalidInput, match="'local' or 'model'"):
        waypost.open(":memory:", encoder="gpt")  # type: ignore[arg-type]
