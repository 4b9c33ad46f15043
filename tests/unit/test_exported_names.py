"""Everything a user needs is importable from ``waypost``, and importing it costs nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import waypost

SOURCE = Path(waypost.__file__)
HEAVY = ("sqlalchemy", "numpy", "pydantic", "alembic", "httpx2", "rich", "typer", "asyncio")


@pytest.mark.parametrize("name", waypost.__all__)
def test_a_public_name_can_be_imported(name: str) -> None:
    assert getattr(waypost, name) is not None
    assert name in dir(waypost)


def test_type_checkers_see_the_same_names() -> None:
    block = next(node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If))
    seen = {
        alias.name
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert seen | {"__version__"} == set(waypost.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="MemoryMangler"):
        _ = waypost.MemoryMangler


def test_importing_loads_nothing_heavy_and_starts_nothing() -> None:
    code = (
        "import sys, threading, waypost; "
        f"print([name for name in {HEAVY!r} if name in sys.modules], threading.active_count())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[] 1\n", "")
