"""How one entry is written in each form, and how folded exchanges become one message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from waypost.content.compaction.base import clip
from waypost.content.entries import Called, Entry, Form, Returned, Said, ToolCall
from waypost.content.messages import Piece
from waypost.content.policy import Policy
from waypost.tokens import count_tokens, truncate_tokens

_FOLD_HEAD = "(Earlier steps, from the memory; open an id with retrieve_from_memory)"
_NEXT_FOLD_HEAD = "(Earlier steps)"

WORTH_CUTTING = 24
_WORDS = 100
_ARGUMENTS = 100
_OUTCOME = 120
_TELLING = 60
_NAMES = 60


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


def fold_message(entries: Sequence[Entry], most: int, *, first: bool = True) -> str:
    """One message for neighbouring folded exchanges: a line for each of the latest calls."""
    lines: list[str] = []
    results = {entry.call_id: entry for entry in entries if isinstance(entry, Returned)}
    for entry in entries:
        if isinstance(entry, Called):
            lines += _exchange_lines(entry, results, "\n".join(lines))
        elif isinstance(entry, Said):
            lines.append(f"- {clip(entry.text, _WORDS)}")
    left_out = len(lines) - most
    head = [_FOLD_HEAD if first else _NEXT_FOLD_HEAD]
    if left_out > 0:
        head.append(f"- {left_out} earlier calls; find their results with query_memory")
    return "\n".join(head + lines[max(left_out, 0) :])


def _exchange_lines(entry: Called, results: dict[str, Returned], before: str) -> list[str]:
    where = f" [{entry.citation.content_id}]" if entry.citation else ""
    said = f"“{clip(entry.text, _WORDS)}” " if entry.text.strip() else ""
    lines: list[str] = []
    for call in entry.calls:
        line = f"- {said}{_call_text(call)}"
        lines.append(line + _outcome(results.get(call.id), f"{before}\n{line}"))
        before, said = f"{before}\n{lines[-1]}", ""
    if lines and (len(entry.text) > _WORDS or _arguments_length(entry) > _ARGUMENTS):
        lines[0] += where
    return lines


def _arguments_length(entry: Called) -> int:
    return sum(len(call.arguments_text) for call in entry.calls)


def _call_text(call: ToolCall) -> str:
    return f"{call.name}({clip(call.arguments_text.strip('{}'), _ARGUMENTS)})"


def _outcome(result: Returned | None, before: str) -> str:
    """What came back: short texts as they are, else what is new in the citation."""
    if result is None:
        return ""
    if result.citation is None or len(result.text) <= _WORDS:
        return f" → {clip(result.text, _OUTCOME)}"
    citation = result.citation
    told = [part for part in citation.telling.split(", ") if not _known(part, before)]
    names = [name for name in citation.names if name not in before]
    line = f" → {citation.label}"
    line += f": {clip(', '.join(told), _TELLING)}" if told else ""
    return f"{line}; {clip(', '.join(names), _NAMES)}" if names else line


def _known(part: str, before: str) -> bool:
    """True for a field whose value stands in the record already."""
    _, sign, value = part.partition("=")
    return bool(sign) and value in before
