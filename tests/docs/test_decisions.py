"""The list of decisions is complete."""

from __future__ import annotations

from pathlib import Path

DECISIONS = Path(__file__).parent.parent.parent / "docs" / "decisions"


def test_every_decision_is_in_the_list() -> None:
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    pages = sorted(page.name for page in DECISIONS.glob("*.md") if page.name != "README.md")
    assert [page for page in pages if f"({page})" not in index] == []
