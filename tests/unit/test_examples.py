"""The examples run as they are, and with a model of your own."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from examples.coding.__main__ import main as coding
from examples.coding.tools import REPOSITORY
from examples.research.__main__ import main as research
from waypost.testing import ScriptedModelServer


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.delenv("WAYPOST_CHAT", raising=False)
    return Console(file=StringIO(), width=100)


def printed(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def saved(text: str) -> int:
    [share] = re.findall(r"(\d+)% fewer", text)
    return int(share)


async def test_the_researcher_finds_what_no_page_says_alone(
    console: Console, tmp_path: Path
) -> None:
    first, second = await research(console, tmp_path / "memory.db")
    assert first.payload == {"light": "Hollow Rock", "maker": "Aune & Daughter", "years": 43}
    assert first.problems == first.degraded == ()
    assert second.steps == 1
    assert second.answer.startswith("Aune & Daughter")
    text = printed(console)
    assert saved(text) >= 50
    for word in ("in full", "cited", "folded"):
        assert word in text


async def test_the_programmer_repairs_the_working_copy_alone(
    console: Console, tmp_path: Path
) -> None:
    result = await coding(console, tmp_path)
    assert result.succeeded
    assert result.degraded == ()
    repaired = (tmp_path / "repository/till/money.py").read_text()
    assert "divmod(cents, people)" in repaired
    assert "round(cents / people)" in (REPOSITORY / "till/money.py").read_text()
    text = printed(console)
    assert "reviewer, step 2" in text
    assert "error in edit_file: the old text occurs 0 times" in text
    assert saved(text) >= 50


async def test_a_configured_model_plays_the_part(
    console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModelServer(api_key="k") as server:
        server.reply("I do not know.", "Nor now.")
        monkeypatch.setenv("WAYPOST_CHAT", f"openai+{server.base_url}?model=mine")
        monkeypatch.setenv("WAYPOST_CHAT_KEY", "k")
        first, second = await research(console, tmp_path / "memory.db")
    assert (first.answer, second.answer) == ("I do not know.", "Nor now.")
    assert server.models_named() == ["mine", "mine"]


def test_every_output_line_fits_the_console(console: Console, tmp_path: Path) -> None:
    import asyncio

    asyncio.run(research(console, tmp_path / "memory.db"))
    assert max(map(len, printed(console).splitlines())) <= 100
