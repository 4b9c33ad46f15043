"""Chat models: the port, an OpenAI-compatible client, and what calls cost.

The client is imported from its own module, ``waypost.chat.openai_compatible``,
so that naming the types here loads no HTTP library.
"""

from __future__ import annotations

from waypost.chat.port import ChatModel, ChatReply, Message, ToolCall

__all__ = ["ChatModel", "ChatReply", "Message", "ToolCall"]
