"""The brief of a task: six sections on at most two thousand tokens.

Goal, evidence, constraints and corrections, open items, next actions, tool hints: what somebody
who takes over needs first. Every line is taken from the task, its stages' summaries or its error
patterns; each section has a share of the budget, and what one leaves over the next may use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from waypost.model import ErrorPattern, StageMemory, SummaryLine, TaskContext
from waypost.tokens import count_tokens, truncate_tokens

MAX_TOKENS = 2000
_SHARES = {
    "Goal": 0.10,
    "Evidence": 0.35,
    "Constraints and corrections": 0.20,
    "Open items": 0.10,
    "Next actions": 0.10,
    "Tool hints": 0.15,
}
_NEXT = re.compile(
    r"\b(?:next|then|will|need(?:s)? to|have to|remaining|still|plan|todo|to do|should now)\b",
    re.IGNORECASE,
)
_EMPTY = "(none)"


def build_brief(
    task: TaskContext,
    stages: Sequence[StageMemory],
    patterns: Sequence[ErrorPattern] = (),
    max_tokens: int = MAX_TOKENS,
) -> str:
    """The brief as text, never longer than ``max_tokens``."""
    lines = [line for stage in stages for line in stage.summary_lines]
    filled: list[str] = []
    spare = float(max_tokens)
    shares = dict(_SHARES)
    for title, texts in _sections(task, stages, lines, patterns).items():
        allowance = int(spare * shares[title] / sum(shares.values()))
        section = _section(title, texts, allowance)
        spare -= count_tokens(section) + 1
        del shares[title]
        filled.append(section)
    return truncate_tokens("\n".join(filled), max_tokens)


def _sections(
    task: TaskContext,
    stages: Sequence[StageMemory],
    lines: Sequence[SummaryLine],
    patterns: Sequence[ErrorPattern],
) -> dict[str, list[str]]:
    newest = list(reversed(lines))
    actions = [line for line in newest if line.kind == "decision" and _NEXT.search(line.text)]
    decided = [line for line in newest if line.kind == "decision" and line not in actions]
    corrections = [_caution(pattern) for pattern in patterns]
    return {
        "Goal": [task.task_goal, *([f"Outcome: {task.outcome}"] if task.outcome else [])],
        "Evidence": _texts(
            [line for line in newest if line.pinned],
            _kinds(newest, "outcome", "resolution"),
            decided,
            _kinds(newest, "statement", "fact"),
        ),
        "Constraints and corrections": [
            *task.critical_constraints,
            *corrections,
            *_texts(_kinds(newest, "constraint"), _kinds(newest, "error")),
        ],
        "Open items": _texts(_kinds(newest, "question")),
        "Next actions": [*_stage_state(stages), *_texts(actions)],
        "Tool hints": _texts(_kinds(newest, "command")),
    }


def _kinds(lines: Iterable[SummaryLine], *kinds: str) -> list[SummaryLine]:
    return [line for line in lines if line.kind in kinds and not line.pinned]


def _texts(*groups: Iterable[SummaryLine]) -> list[str]:
    return list(dict.fromkeys(line.text for group in groups for line in group))


def _stage_state(stages: Sequence[StageMemory]) -> list[str]:
    return [
        f"Complete the {stage.stage_type} stage that is open." for stage in stages if stage.is_open
    ]


def _caution(pattern: ErrorPattern) -> str:
    advice = f"; {pattern.recommendation.text}" if pattern.recommendation else ""
    return f"{pattern.occurrences} times: {pattern.description}{advice}"


def _section(title: str, texts: Sequence[str], allowance: int) -> str:
    """As many lines as fit; a first line that is too long is cut rather than left out."""
    heading = f"## {title}"
    rows = [heading]
    spent = count_tokens(heading) + 1
    for text in texts or (_EMPTY,):
        row = f"- {text}"
        cost = count_tokens(row) + 1
        if spent + cost > allowance:
            if len(rows) == 1:
                rows.append(truncate_tokens(row, max(allowance - spent, 0)).rstrip())
            break
        rows.append(row)
        spent += cost
    return "\n".join(row for row in rows if row)
