"""Chat models: the port, an OpenAI-compatible client, and what calls cost.

``chat_model_from_url`` picks a model by a short address, ``openai:gpt-4o-mini`` or
``openai+http://localhost:11434/v1?model=…``; the HTTP library loads only then. Keys are
arguments, never part of an address and never read from the environment here.
"""

from __future__ import annotations

from typing import Any

from waypost.chat.port import ChatModel, ChatReply, Message, ToolCall
from waypost.exceptions import InvalidInput
from waypost.resilience.address import parse_model_address

__all__ = ["ChatModel", "ChatReply", "Message", "ToolCall", "chat_model_from_url"]


def chat_model_from_url(url: str, **options: Any) -> ChatModel:
    """Return the chat model that the address names; options go to its constructor."""
    from waypost.chat.openai_compatible import OPENAI_URL, OpenAICompatibleChat

    address = parse_model_address(url)
    if address.provider != "openai" or address.parameters:
        raise InvalidInput(
            "a chat model's address is openai:MODEL or openai+http://HOST/v1?model=MODEL"
        )
    base_url = options.pop("base_url", None) or address.base_url or OPENAI_URL
    if base_url == OPENAI_URL and not options.get("api_key"):
        raise InvalidInput("OpenAI's chat models need an API key; pass api_key=")
    return OpenAICompatibleChat(address.model, base_url=base_url, **options)
