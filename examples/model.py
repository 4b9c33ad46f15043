"""Which model plays the agent: the one you configured, or a scripted one that needs no key.

``WAYPOST_CHAT`` names a real model (``openai:gpt-4o-mini``, or any OpenAI-compatible server as
``openai+http://HOST/v1?model=MODEL``), ``WAYPOST_CHAT_KEY`` its key. Without them a *play* is
performed: a generator that gets each prompt as the model would and yields what the model says. It
is served over real HTTP, so both take the same way through the agent.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from waypost import settings
from waypost.chat import ChatModel, chat_model_from_url
from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.testing import Reply, ScriptedModelServer

Messages = Sequence[Mapping[str, Any]]
Play = Generator[Reply, Messages, None]


@asynccontextmanager
async def model(play: Callable[[], Play]) -> AsyncIterator[ChatModel]:
    """The configured model, or the play."""
    configured = settings.load()
    if configured.chat:
        key = configured.chat_key.get_secret_value() if configured.chat_key else None
        chat: ChatModel = chat_model_from_url(configured.chat, api_key=key)
        try:
            yield chat
        finally:
            await chat.aclose()
        return
    with ScriptedModelServer(chat=_performed(play())) as server:
        scripted = OpenAICompatibleChat("a scripted model", base_url=server.base_url)
        try:
            yield scripted
        finally:
            await scripted.aclose()


def _performed(play: Play) -> Callable[[Mapping[str, Any]], Reply]:
    next(play)
    return lambda body: play.send(body["messages"])


def call(thought: str, tool: str, **arguments: Any) -> Reply:
    """The model thinks aloud and calls a tool."""
    function = {"name": tool, "arguments": json.dumps(arguments, ensure_ascii=False)}
    calls = [{"id": f"call_{tool}", "type": "function", "function": function}]
    return {"role": "assistant", "content": thought, "tool_calls": calls}


def read(messages: Messages) -> str:
    """All the text that the model has before it."""
    return "\n".join(str(message.get("content") or "") for message in messages)
