"""Message lists in OpenAI's and in Anthropic's style, and a check of their structure.

``openai_messages`` and ``anthropic_messages`` write the same neutral pieces in either form.
``problems`` tells what a provider would refuse: a result without its call, a call without its
result, roles out of order, empty text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from waypost.content.entries import CALL_OVERHEAD, MESSAGE_OVERHEAD, ToolCall
from waypost.tokens import count_tokens

Style = Literal["openai", "anthropic"]
Message = dict[str, Any]

_EMPTY = "(no text)"


@dataclass(frozen=True)
class Piece:
    """One message to be written: ``role`` is system, user, assistant or tool."""

    role: str
    content: str | tuple[Mapping[str, Any], ...]
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    is_error: bool = False

    @cached_property
    def tokens(self) -> int:
        text = self.content if isinstance(self.content, str) else _joined(self.content)
        spent = sum(
            count_tokens(call.name) + count_tokens(call.arguments_text) + CALL_OVERHEAD
            for call in self.calls
        )
        return MESSAGE_OVERHEAD + count_tokens(text) + spent


def _joined(parts: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(str(part.get("text", "")) for part in parts)


def openai_messages(pieces: Sequence[Piece]) -> list[Message]:
    return [_openai(piece) for piece in pieces]


def _openai(piece: Piece) -> Message:
    if piece.role == "tool":
        return {"role": "tool", "tool_call_id": piece.call_id, "content": piece.content}
    content = _filled(piece.content)
    message: Message = {"role": piece.role, "content": content}
    if piece.calls:
        message["content"] = piece.content or None
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments_text},
            }
            for call in piece.calls
        ]
    return message


def _filled(content: str | tuple[Mapping[str, Any], ...]) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content if content.strip() else _EMPTY
    return [dict(part) for part in content]


def anthropic_messages(pieces: Sequence[Piece]) -> list[Message]:
    """The messages without the system text, neighbours of one role joined."""
    messages: list[Message] = []
    for piece in pieces:
        if piece.role == "system":
            continue
        role = "user" if piece.role == "tool" else piece.role
        blocks = _blocks(piece)
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    return messages


def system_text(pieces: Sequence[Piece]) -> str:
    """What Anthropic takes as ``system``: all system messages, joined."""
    texts = [piece.content for piece in pieces if piece.role == "system"]
    return "\n\n".join(text if isinstance(text, str) else _joined(text) for text in texts)


def _blocks(piece: Piece) -> list[dict[str, Any]]:
    if piece.role == "tool":
        block = {"type": "tool_result", "tool_use_id": piece.call_id, "content": piece.content}
        return [block | ({"is_error": True} if piece.is_error else {})]
    if not isinstance(piece.content, str):
        return [dict(part) for part in piece.content]
    text = piece.content.rstrip() if piece.role == "assistant" else piece.content
    blocks: list[dict[str, Any]] = []
    if text.strip() or not piece.calls:
        blocks.append({"type": "text", "text": text if text.strip() else _EMPTY})
    return blocks + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
        for call in piece.calls
    ]


def problems(messages: Sequence[Message], style: Style = "openai") -> list[str]:
    """What a provider would refuse about a message list; empty when it is valid."""
    return _openai_problems(messages) if style == "openai" else _anthropic_problems(messages)


def _openai_problems(messages: Sequence[Message]) -> list[str]:
    found: list[str] = []
    open_calls: list[str] = []
    for place, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] in open_calls:
                open_calls.remove(message["tool_call_id"])
            else:
                found.append(f"message {place} answers no open call")
            continue
        if open_calls:
            found.append(f"message {place} comes before the results of {', '.join(open_calls)}")
        open_calls = [call["id"] for call in message.get("tool_calls", [])]
        if role not in ("system", "developer", "user", "assistant"):
            found.append(f"message {place} has the role {role!r}")
        if not message.get("content") and not open_calls:
            found.append(f"message {place} is empty")
    return found + ([f"no result for {', '.join(open_calls)}"] if open_calls else [])


def _anthropic_problems(messages: Sequence[Message]) -> list[str]:
    found: list[str] = []
    expected: list[str] = []
    for place, message in enumerate(messages):
        if message["role"] != ("user", "assistant")[place % 2]:
            found.append(f"message {place} has the role {message['role']!r}")
        blocks = message["content"]
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        if sorted(results) != sorted(expected):
            found.append(f"message {place} has results for {results}, expected {expected}")
        if any(b["type"] != "tool_result" for b in blocks[: len(results)]):
            found.append(f"message {place} has text before its tool results")
        if any(b["type"] == "text" and not b["text"].strip() for b in blocks) or not blocks:
            found.append(f"message {place} is empty")
        expected = [b["id"] for b in blocks if b["type"] == "tool_use"]
    return found + ([f"no result for {', '.join(expected)}"] if expected else [])
