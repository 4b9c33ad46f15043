"""The parts of a conversation: what was said, what was called, what came back.

Entries are what happened; they never change. How each is shown (in full, cut, cited, folded) is
decided by :mod:`waypost.content.conversation` and kept apart in :class:`Form`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

from waypost.content.citation import Citation
from waypost.tokens import count_tokens

MESSAGE_OVERHEAD = 4
CALL_OVERHEAD = 8


class Form(IntEnum):
    """How an entry is shown, from most to least."""

    FULL = 0
    CUT = 1
    CITED = 2
    FOLDED = 3


@dataclass(frozen=True)
class ToolCall:
    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def arguments_text(self) -> str:
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Said:
    """A message without tool calls. ``content`` is text, or parts that are passed on as given."""

    role: str
    content: str | tuple[Mapping[str, Any], ...]
    citation: Citation | None = None

    @cached_property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(str(part.get("text", "")) for part in self.content)

    @cached_property
    def tokens(self) -> int:
        return MESSAGE_OVERHEAD + count_tokens(self.text)


@dataclass(frozen=True)
class Called:
    """The agent's message with tool calls. ``citation`` is where the whole of it is kept."""

    text: str
    calls: tuple[ToolCall, ...]
    citation: Citation | None = None

    @cached_property
    def tokens(self) -> int:
        spent = sum(
            count_tokens(call.name) + count_tokens(call.arguments_text) + CALL_OVERHEAD
            for call in self.calls
        )
        return MESSAGE_OVERHEAD + count_tokens(self.text) + spent


@dataclass(frozen=True)
class Returned:
    """The result of one call. Without a citation it is shown in full for ever."""

    call_id: str
    source: str
    text: str
    citation: Citation | None = None
    kind: str = ""
    is_error: bool = False
    pinned: bool = False

    @cached_property
    def tokens(self) -> int:
        return MESSAGE_OVERHEAD + count_tokens(self.text)


Entry = Said | Called | Returned
