"""Every code block in the documentation runs.

The blocks of one page run in order, in one empty directory: Python blocks share
their names, shell blocks run ``waypost`` for real and check that every ``make``
target and module exists. JSON and TOML blocks have to parse; ``text`` blocks are
pictures. A block that cannot run here says why in a comment right above it:

    <!-- not run: needs a cluster -->
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine, command_line

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(
    r"(?P<reason><!-- not run: [^\n]+ -->\n+)?^```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
NOT_OURS = ("git ", "cd ", "pip ", "docker ", "python3 -m venv", "#")


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    runs: bool
    line: int


def pages() -> list[Path]:
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/*.md")]
    return sorted(page.relative_to(ROOT) for page in found)


def blocks_of(page: Path) -> Iterator[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        yield Block(match["language"], match["code"], match["reason"] is None, line)


@pytest.mark.parametrize("page", pages(), ids=str)
def test_the_code_blocks_of_a_page_run(
    page: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = Runner(command_line(capsys, monkeypatch, str(tmp_path / "cli.db")), monkeypatch)
    for block in blocks_of(page):
        if block.runs:
            runner.run(block, f"{page}:{block.line}")


class Runner:
    """Runs the blocks of one page, by language."""

    def __init__(self, waypost: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        self._waypost = waypost
        self._monkeypatch = monkeypatch
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._by_language: dict[str, Callable[[Block, str], None]] = {
            "python": self._python,
            "sh": self._shell,
            "json": lambda block, where: json.loads(block.code),
            "toml": lambda block, where: tomllib.loads(block.code) and None,
            "text": lambda block, where: None,
        }

    def run(self, block: Block, where: str) -> None:
        known = ", ".join(self._by_language)
        assert block.language in self._by_language, f"{where}: write one of {known} after the ```"
        self._by_language[block.language](block, where)

    def _python(self, block: Block, where: str) -> None:
        lines_before = "\n" * block.line  # so that a traceback names the line of the page
        exec(compile(lines_before + block.code, where, "exec"), self._names)

    def _shell(self, block: Block, where: str) -> None:
        for line in block.code.replace("\\\n", " ").splitlines():
            command = line.removeprefix("$ ").strip()
            if command and not command.startswith(NOT_OURS):
                self._command(shlex.split(command, comments=True), f"{where}: {command}")

    def _command(self, words: list[str], where: str) -> None:
        if words[0] == "waypost":
            outcome = self._waypost(*words[1:])
            assert outcome.code == 0, f"{where}\n{outcome.err}"
        elif words[0] == "export":
            name, _, value = words[1].partition("=")
            self._monkeypatch.setenv(name, value)
        elif words[0] == "make":
            makefile = (ROOT / "Makefile").read_text()
            assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), where
        elif words[:2] == ["python", "-m"] or words[0].endswith("bin/python"):
            assert importlib.util.find_spec(words[2]), where
        else:
            pytest.fail(f"{where}: give a reason why this cannot run, as this module describes")


def test_every_relative_link_leads_somewhere() -> None:
    for page in pages():
        text = BLOCK.sub("", (ROOT / page).read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target and not target.startswith("mailto:"):
                assert (ROOT / page.parent / target).exists(), f"{page} links to {target}"
