"""When a result stops being shown in full, and when old steps become one line.

The default: a result is shown in full on the next step and cited from then on; errors and
pinned results stay; the agent's own long texts are cut, and steps older than a few become one line
each, with the id to open them by. Changes are made in batches:
nothing is rewritten until it saves enough, so between two batches each prompt only grows at its
end and the provider's prompt cache stays warm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from waypost.exceptions import InvalidInput

_LEAST = {
    "small_tokens": 0,
    "show_tokens": 50,
    "citation_tokens": 50,
    "error_tokens": 50,
    "own_steps": 1,
    "own_tokens": 5,
    "fold_after": 1,
    "record_lines": 1,
    "batch_tokens": 0,
    "budget_tokens": 1,
}


class Show(StrEnum):
    """How a result is shown: ONCE in full and cited later; FIRST_OF_KIND in full only for the
    first result of its kind, the others cited at once; ALWAYS in full; NEVER in full."""

    ONCE = "once"
    FIRST_OF_KIND = "first_of_kind"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True)
class Rule:
    """``steps`` is the age, in steps, up to which a result is shown in full."""

    show: Show = Show.ONCE
    steps: int = 1

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InvalidInput(f"a result is shown for at least 1 step, not {self.steps}")


@dataclass(frozen=True)
class Policy:
    """What is shown, for how long and in how many tokens.

    ``kinds`` gives tools (by name) or kinds of content ("web page", "log", …) their own rule.
    Results of up to ``small_tokens`` stay as they are. Longer than ``show_tokens``, a result is
    shown as its two ends from the start. Errors stay, up to ``error_tokens`` of each.
    The agent's own texts and arguments stay whole for ``own_steps`` steps (None: always), then
    ``own_tokens`` of each are left. ``fold_after`` is the age in steps at which a whole exchange
    becomes one line (None: never), ``record_lines`` how many such lines are kept (older ones are
    found with query_memory). ``batch_tokens`` must be saved before anything is rewritten.
    ``budget_tokens`` bounds the whole prompt exactly.
    """

    rule: Rule = field(default_factory=Rule)
    kinds: Mapping[str, Rule] = field(default_factory=dict)
    small_tokens: int = 60
    show_tokens: int = 4000
    citation_tokens: int = 160
    error_tokens: int = 300
    own_steps: int | None = 1
    own_tokens: int = 30
    fold_after: int | None = 2
    record_lines: int = 120
    batch_tokens: int = 120
    budget_tokens: int | None = None

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise InvalidInput(f"{name} is at least {least}, not {value}")

    def rule_for(self, source: str, kind: str) -> Rule:
        return self.kinds.get(source) or self.kinds.get(kind) or self.rule

    def citation_size(self, tokens: int) -> int:
        """Room for the citation of a result: a third of it, within bounds."""
        return min(self.citation_tokens, max(80, tokens // 3))


SHOW_EVERYTHING = Policy(rule=Rule(Show.ALWAYS), own_steps=None, fold_after=None, show_tokens=10**9)
"""The conversation as it is without the channel."""
