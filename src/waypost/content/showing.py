"""How one entry is written in each form but the last; ``folding`` writes that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waypost.content.entries import Called, Entry, Form, Returned, ToolCall
from waypost.content.messages import Piece
from waypost.content.policy import Policy
from waypost.tokens import count_tokens, truncate_tokens

WORTH_CUTTING = 24
_ARGUMENTS = 100


def piece_of(entry: Entry, form: Form, policy: Policy) -> Piece:
    """Write one entry that is not folded."""
    if isinstance(entry, Called):
        return _call_piece(entry, form, policy)
    if isinstance(entry, Returned):
        text = _result_text(entry, form, policy)
        return Piece("tool", text, call_id=entry.call_id, is_error=entry.is_error)
    if form is Form.CITED and entry.citation:
        return Piece(
            entry.role, shortened(entry.text, entry.citation.content_id, policy.own_tokens)
        )
    return Piece(entry.role, entry.content)


def _call_piece(entry: Called, form: Form, policy: Policy) -> Piece:
    """A call as it was made or, once old, with its long texts cut; names and shape stay."""
    if form is Form.FULL or entry.citation is None:
        return Piece("assistant", entry.text, entry.calls)
    identifier = entry.citation.content_id
    text = entry.text
    if count_tokens(text) > policy.own_tokens + WORTH_CUTTING:
        text = shortened(text, identifier, policy.own_tokens)
    calls = tuple(
        ToolCall(call.id, call.name, _short_arguments(call.arguments, identifier))
        for call in entry.calls
    )
    return Piece("assistant", text, calls)


def _short_arguments(arguments: Mapping[str, Any], identifier: str) -> dict[str, Any]:
    return {
        key: f"{value[:_ARGUMENTS]}… [{identifier}]"
        if isinstance(value, str) and len(value) > 2 * _ARGUMENTS
        else value
        for key, value in arguments.items()
    }


def _result_text(entry: Returned, form: Form, policy: Policy) -> str:
    if entry.citation is None or form is Form.FULL:
        return entry.text
    if form is Form.CITED:
        return entry.citation.text
    limit = policy.error_tokens if entry.is_error else policy.show_tokens
    return two_ends(entry.text, limit, entry.citation.content_id)


def shortened(text: str, content_id: str, tokens: int) -> str:
    """The beginning of a text and where the rest is."""
    return f"{truncate_tokens(text, tokens).rstrip()} … [{content_id}]"


def two_ends(text: str, tokens: int, content_id: str) -> str:
    """The beginning and the end of a text in at most ``tokens`` tokens, with its id between."""
    middle = (
        f"\n… [{content_id}] {len(text):,} characters in all; open the rest with "
        f'retrieve_from_memory(id="{content_id}", transform="excerpt") …\n'
    )
    room = max(tokens - count_tokens(middle), 0)
    head = truncate_tokens(text, room * 3 // 4)
    tail = _end(text[len(head) :], room - count_tokens(head))
    return head + middle + tail


def _end(text: str, tokens: int) -> str:
    """The longest end found with at most ``tokens`` tokens, on whole lines where there are any."""
    end = text[-tokens * 3 :] if tokens > 0 else ""
    while end and count_tokens(end) > tokens:
        end = end[len(end) // 8 + 1 :]
    _, newline, lines = end.partition("\n")
    return lines if newline and len(lines) * 2 > len(end) else end
