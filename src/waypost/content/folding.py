"""The record of earlier steps: folded exchanges as one message, a line for each call.

A line has the agent's first words, the call, and of the result its id, what it is, and the names in
it that stand nowhere above: what the record says already is not said again. The latest lines are
kept; older ones are counted, and found with query_memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from waypost.content.compaction.base import clip
from waypost.content.entries import Called, Entry, Returned, ToolCall

_HEAD = "(Earlier steps, from the memory; open an id with retrieve_from_memory)"
_NEXT_HEAD = "(Earlier steps)"
_WORDS = 100
_ARGUMENTS = 100
_OUTCOME = 120
_TELLING = 60
_NAMES = 60


def fold_message(entries: Sequence[Entry], most: int, *, first: bool = True) -> str:
    """One message for neighbouring folded exchanges: a line for each of the latest calls."""
    results = {entry.call_id: entry for entry in entries if isinstance(entry, Returned)}
    calls = [entry for entry in entries if isinstance(entry, Called)]
    kept, total = _latest(calls, most), sum(len(entry.calls) for entry in calls)
    lines: list[str] = []
    for entry in kept:
        lines += _exchange_lines(entry, results, "\n".join(lines))
    lines = lines[-most:]
    head = [_HEAD if first else _NEXT_HEAD]
    if total > len(lines):
        head.append(f"- {total - len(lines)} earlier calls; find their results with query_memory")
    return "\n".join(head + lines)


def _latest(calls: Sequence[Called], most: int) -> list[Called]:
    """The last messages that together have at least ``most`` calls."""
    kept: list[Called] = []
    count = 0
    for entry in reversed(calls):
        if count >= most:
            break
        kept.append(entry)
        count += len(entry.calls)
    return kept[::-1]


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
