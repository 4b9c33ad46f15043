"""What Waypost needs of a chat model: one call, one reply.

Messages are plain mappings in the chat-completions shape (``role``, ``content``,
``tool_calls``, ``tool_call_id``), because that is what agents already hold.
A reply states what was spent and why the model stopped: ``finish_reason ==
"length"`` means the text is cut off, and the caller decides what that is worth.

A model that cannot answer raises ``ProviderError``; one that may answer later
raises ``ProviderUnavailable``. There is no empty reply for a failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

Message: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the model wants run; ``arguments`` is the JSON text exactly as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What the model answered, and what it cost in tokens."""

    text: str
    tokens_in: int
    tokens_out: int
    model: str
    finish_reason: str = "stop"
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def truncated(self) -> bool:
        """Whether the model ran into the token limit before it had finished."""
        return self.finish_reason == "length"


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers a list of messages."""

    @property
    def name(self) -> str: ...

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        json_schema: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> ChatReply:
        """Answer the messages once.

        With ``json_schema`` a reply that is neither truncated nor a tool call is valid JSON text;
        whether it follows the schema is the caller's to check, since not every server enforces it.
        """
        ...

    async def aclose(self) -> None: ...
