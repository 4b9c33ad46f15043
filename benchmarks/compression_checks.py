"""Checks of a summary that share nothing with the compressor: no ledger, no weights, no types.

``plain_values`` is one regular expression: anything with a digit, an address, an absolute path.
``values_kept`` asks which of those that a person or the agent wrote stand in the summary, letter
for letter. ``needed_later`` cuts a run in the middle and asks which values that the second half
puts into its commands, having seen them in the first, stand in the summary of the first half;
beside it, what the newest text of the same length would have kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.agent_runs import Step
from waypost.tokens import count_tokens, truncate_tokens

_VALUE = re.compile(r"\w+://[^\s\"'<>)\]]+|[\w.+-]+@[\w.-]+\w|/[\w./-]*\w|[\w#$.:/-]*\d[\w%.:/-]*")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_EDGES = ".,:;-/#"
_SHORTEST = 2


@dataclass
class Share:
    """How many of how many."""

    kept: int = 0
    total: int = 0

    def add(self, kept: int, total: int) -> None:
        self.kept += kept
        self.total += total

    @property
    def value(self) -> float:
        return self.kept / self.total if self.total else 1.0


def plain_values(text: str) -> set[str]:
    found = (value.strip(_EDGES).lower() for value in _VALUE.findall(text))
    return {value for value in found if len(value) >= _SHORTEST}


def values_kept(steps: Iterable[Step], summary: str) -> Share:
    """Values that were said (code blocks aside), and how many of them the summary has."""
    said = (_FENCED.sub(" ", step.text) for step in steps if step.role != "tool")
    return _found(set[str]().union(*map(plain_values, said)), summary)


def used_later(steps: Sequence[Step]) -> tuple[Sequence[Step], set[str]]:
    """The first half of a run, and the values from it that commands of the second half take."""
    middle = len(steps) // 2
    first, second = steps[:middle], steps[middle:]
    seen = set[str]().union(*(plain_values(_whole(step)) for step in first))
    taken = set[str]().union(*(plain_values(_commands(step)) for step in second))
    return first, seen & taken


def needed_later(needed: set[str], summary: str) -> Share:
    return _found(needed, summary)


def newest_text(steps: Sequence[Step], tokens: int) -> str:
    """As much of the end of some steps as fits: what plain truncation keeps."""
    kept: list[str] = []
    for step in reversed(steps):
        text = truncate_tokens(_whole(step), tokens)
        tokens -= count_tokens(text)
        kept.append(text)
        if tokens <= 0:
            break
    return "\n".join(reversed(kept))


def _found(values: set[str], text: str) -> Share:
    lowered = text.lower()
    return Share(sum(value in lowered for value in values), len(values))


def _whole(step: Step) -> str:
    return f"{step.text} {_commands(step)}"


def _commands(step: Step) -> str:
    return " ".join(f"{action.name} {action.arguments}" for action in step.actions)
