"""Running commands of the command line in the test's own process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from waypost.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


CommandLine = Callable[..., Outcome]


def command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, url: str
) -> CommandLine:
    """A function that runs one command on the memory at ``url`` and returns what it did."""
    monkeypatch.setenv("WAYPOST_URL", url)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("WAYPOST_AGENT", raising=False)

    def run(*arguments: str | Path, stdin: str = "") -> Outcome:
        monkeypatch.setattr(sys, "stdin", StringIO(stdin))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run
