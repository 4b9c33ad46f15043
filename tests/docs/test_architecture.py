"""The map in the architecture page names what is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "src" / "waypost"


def named() -> set[str]:
    """Every part in the picture: the second column, the lines of which end where the words do."""
    picture = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert picture is not None
    parts = (re.split(r" {3,}", line[11:])[0] for line in picture[1].splitlines())
    return {name for part in parts for name in part.split()}


def test_every_part_in_the_picture_exists() -> None:
    assert [name for name in sorted(named()) if not (PACKAGE / name).exists()] == []


def test_every_folder_is_in_the_picture() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders - named() == set()
