"""Logs and terminal output: errors first, then one line per message template with its count.

Lines that differ only in numbers, times and ids have the same template. What happened once is
worth more than what happened a thousand times, so rare templates come before common ones; the
last lines say how it ended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from waypost.content.compaction.base import Compacted, clip
from waypost.content.material import Material

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\b\d\d:\d\d:\d\d\b")
_LEVEL = re.compile(r"\b(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL|TRACE)\b")
_PROMPT = re.compile(
    r"^(?:[\w.@~/: -]{0,60}[$#>%] |\(Open file|\(Current dir|bash-\$)", re.MULTILINE
)
_BAD = re.compile(
    r"\b(?:error|exception|traceback|fail(?:ed|ure)?|fatal|critical|denied|refused|"
    r"not found|no such|cannot|undefined|panic|segfault|killed|timed? ?out)\b",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|[0-9a-fA-F]{8,}|\d+(?:[.:,-]\d+)*")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\r")
_TAIL_LINES = 3
_MANY_LINES = 20_000


@dataclass
class _Template:
    first: str
    count: int
    bad: bool


class LogCompactor:
    name = "log"

    def confidence(self, material: Material) -> float:
        lines = material.head[:20_000].splitlines()[:200]
        if len(lines) < 3:
            return 0.0
        marked = sum(1 for line in lines if _TIME.search(line[:60]) or _LEVEL.search(line[:120]))
        if marked * 3 >= len(lines):
            return 0.75
        head = material.head[:20_000]
        if _PROMPT.search(head) or "Traceback (most recent" in head or "Execution logs:" in head:
            return 0.55
        return 0.0

    def compact(self, material: Material) -> Compacted:
        lines = _ESCAPE.sub("", material.text).splitlines()[:_MANY_LINES]
        lines = [line for line in lines if line.strip()]
        bad, rest = _by_template(lines)
        ending = [clip(line, 240) for line in lines[-_TAIL_LINES:]]
        chosen = list(dict.fromkeys([*bad[:6], *ending, *rest]))
        failing = f", {len(bad)} kinds of error lines" if bad else ""
        count = f"{len(lines)}" if material.whole else f"over {len(lines)}"
        what = f"terminal output of {count} lines{failing}"
        return Compacted(what, tuple(chosen), "errors, end, one line per pattern")


def _by_template(lines: list[str]) -> tuple[list[str], list[str]]:
    """Error lines and the others, one per template with how often it came, rare ones first."""
    templates: dict[str, _Template] = {}
    for line in lines:
        short = line[:400]
        key = _VARIABLE.sub("#", short)
        known = templates.get(key)
        if known:
            known.count += 1
        else:
            templates[key] = _Template(short, 1, bool(_BAD.search(short)))
    ordered = sorted(templates.values(), key=lambda entry: min(entry.count, 5))
    bad = [_shown(entry) for entry in ordered if entry.bad]
    return bad, [_shown(entry) for entry in ordered if not entry.bad]


def _shown(entry: _Template) -> str:
    times = f" (and {entry.count - 1} more like it)" if entry.count > 1 else ""
    return clip(entry.first, 240) + times
