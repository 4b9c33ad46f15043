"""Commands that differ in one word are one line: ``get_order id={W1,W7,W9}``.

The notation is the shell's, so a person and a model read it without being told, and it loses
nothing: ``expand`` gives back every command, and the retention measure judges those.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from waypost.model import SummaryLine

_VALUE = r"[^{}\s,\"']+"
_CHOICE = re.compile(rf"\{{({_VALUE}(?:,{_VALUE})+)\}}")
_PLAIN = re.compile(_VALUE)
_KEY = re.compile(r"[\w.-]+=")
_MOST = 30


def merge(lines: Iterable[SummaryLine]) -> tuple[SummaryLine, ...]:
    """Join commands that differ in one word, where the first of them stands; the rest stays."""
    slots: list[list[SummaryLine]] = []
    groups: dict[tuple[str, int], list[list[SummaryLine]]] = defaultdict(list)
    for line in lines:
        group = [line]
        if _can_open(line):
            words = line.text.split()
            known = groups[words[0], len(words)]
            found = next((one for one in known if _written([*one, line]) is not None), None)
            if found is not None:
                found.append(line)
                continue
            known.append(group)
        slots.append(group)
    return tuple(joined for group in slots for joined in _closed(group))


def expand(text: str) -> list[str]:
    """Every reading of a line: one for each choice between braces, or the line itself."""
    found = list(_CHOICE.finditer(text))
    if len(found) != 1:
        return [text]
    (choice,) = found
    before, after = text[: choice.start()], text[choice.end() :]
    return [before + value + after for value in choice[1].split(",")]


def _can_open(line: SummaryLine) -> bool:
    return line.kind == "command" and not line.pinned and "{" not in line.text


def _closed(group: Sequence[SummaryLine]) -> list[SummaryLine]:
    text = _written(group) if len(group) > 1 else None
    if text is None:
        return list(group)
    sources = dict.fromkeys(name for line in group for name in line.source_ids)
    return [group[0].model_copy(update={"text": text, "source_ids": tuple(sources)})]


def _written(group: Sequence[SummaryLine]) -> str | None:
    """The group as one line, or None when its commands do not differ in exactly one plain word."""
    if len(group) > _MOST or any(not _can_open(line) for line in group):
        return None
    rows = [line.text.split() for line in group]
    if len({len(row) for row in rows}) > 1:
        return None
    columns = [list(dict.fromkeys(column)) for column in zip(*rows, strict=True)]
    varying = [place for place, column in enumerate(columns) if len(column) > 1]
    if len(group) > 1 and (len(varying) != 1 or varying[0] == 0):
        return None
    if not _are_plain(columns):
        return None
    return " ".join(column[0] if len(column) == 1 else _choice(column) for column in columns)


def _are_plain(columns: Iterable[Sequence[str]]) -> bool:
    return all(
        _PLAIN.fullmatch(_value(word)) for column in columns if len(column) > 1 for word in column
    )


def _choice(words: Sequence[str]) -> str:
    keys = {_key(word) for word in words}
    key = keys.pop() if len(keys) == 1 else ""
    return key + "{" + ",".join(word[len(key) :] for word in words) + "}"


def _key(word: str) -> str:
    found = _KEY.match(word)
    return found.group() if found else ""


def _value(word: str) -> str:
    return word[len(_key(word)) :]
