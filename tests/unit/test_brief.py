"""The brief of a task: six sections, whatever there is to say, on at most two thousand tokens."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.model import StageMemory, StageType, SummaryLine, TaskContext, new_id
from waypost.stages.brief import build_brief
from waypost.tokens import count_tokens

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SECTIONS = (
    "Goal", "Evidence", "Constraints and corrections", "Open items", "Next actions", "Tool hints",
)  # fmt: skip
KINDS = ("decision", "constraint", "outcome", "error", "resolution", "question", "command", "fact")


def task(goal: str = "Move billing", constraints: tuple[str, ...] = ()) -> TaskContext:
    return TaskContext(
        task_id="t",
        agent_id="planner",
        task_goal=goal,
        critical_constraints=constraints,
        created_at=NOW,
        updated_at=NOW,
    )


def stage(*lines: tuple[str, str], done: bool = True) -> StageMemory:
    return StageMemory(
        stage_id=new_id(),
        task_id="t",
        agent_id="planner",
        stage_type=StageType.EXECUTION,
        summary_lines=tuple(
            SummaryLine(text=text, source_ids=("m",), kind=kind) for kind, text in lines
        ),
        created_at=NOW,
        updated_at=NOW,
        completed_at=NOW if done else None,
    )


def section(brief: str, title: str) -> str:
    return brief.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_every_kind_of_line_has_its_section() -> None:
    brief = build_brief(
        task(constraints=("no downtime",)),
        [
            stage(
                ("outcome", "The copy finished in 47 minutes."),
                ("error", "The first copy failed."),
                ("question", "Who signs off?"),
                ("decision", "We will next move the archive."),
                ("command", "copy table=invoices"),
            )
        ],
    )
    assert "Move billing" in section(brief, "Goal")
    assert "47 minutes" in section(brief, "Evidence")
    assert "no downtime" in section(brief, "Constraints and corrections")
    assert "The first copy failed." in section(brief, "Constraints and corrections")
    assert "Who signs off?" in section(brief, "Open items")
    assert "move the archive" in section(brief, "Next actions")
    assert "copy table=invoices" in section(brief, "Tool hints")


def test_an_open_stage_is_the_next_thing_to_do() -> None:
    brief = build_brief(task(), [stage(done=False)])
    assert "Complete the execution stage" in section(brief, "Next actions")


@pytest.mark.parametrize("words", [1, 500, 20_000])
def test_six_sections_whatever_the_length_of_the_goal(words: int) -> None:
    brief = build_brief(task("goal " * words), [])
    assert [title for title in SECTIONS if f"## {title}" in brief] == list(SECTIONS)
    assert count_tokens(brief) <= 2000


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.text(min_size=1, max_size=400)), max_size=80),
    st.integers(min_value=200, max_value=2000),
)
def test_the_brief_is_never_longer_than_asked(lines: list[tuple[str, str]], budget: int) -> None:
    assert count_tokens(build_brief(task(), [stage(*lines)], max_tokens=budget)) <= budget
