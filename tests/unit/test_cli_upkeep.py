"""Doctor and reembed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import CommandLine
from waypost.cli.diagnosis import sqlite_finding
from waypost.store.sqlite import has_wal_reset_race
from waypost.testing import ScriptedModelServer


def states(waypost: CommandLine) -> dict[str, str]:
    return {finding["part"]: finding["state"] for finding in waypost("doctor", "--json").json}


def test_doctor_finds_a_healthy_memory_healthy(waypost: CommandLine) -> None:
    waypost("remember", "The staging server listens on port 8443.")
    outcome = waypost("doctor")
    assert outcome.code == 0
    assert "every memory has its vector" in outcome.out
    assert set(states(waypost).values()) == {"ok"}


def test_doctor_does_not_create_the_memory(waypost: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "memory.db").unlink()
    assert waypost("doctor").code == 0
    assert states(waypost)["memory"] == "note"
    assert not (tmp_path / "memory.db").exists()


@pytest.mark.parametrize(
    ("version", "risky"),
    [
        ((3, 7, 0), True),
        ((3, 40, 1), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((4, 0, 0), False),
    ],
)
def test_the_race_of_some_versions_of_sqlite_is_known(
    version: tuple[int, ...], risky: bool
) -> None:
    assert has_wal_reset_race(version) is risky


def test_doctor_warns_of_a_risky_sqlite(
    waypost: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Old:
        sqlite_version = "3.40.1"

    monkeypatch.setattr("waypost.store.sqlite.driver", Old)
    assert "3.40.1 can damage a file that two processes write" in sqlite_finding().text
    assert sqlite_finding().state == "warning"


def test_doctor_names_variables_that_are_no_setting(
    waypost: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYPOST_AGNET", "planner")
    assert "WAYPOST_AGNET" in waypost("doctor").out


def test_doctor_reports_a_file_that_is_no_memory(waypost: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_text("Dear Sir or Madam, this is no database.")
    outcome = waypost("doctor")
    assert outcome.code == 1
    assert "problem" in outcome.out


def test_doctor_reports_an_embedder_that_does_not_answer(
    waypost: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYPOST_EMBEDDER", "openai+http://127.0.0.1:9/v1?model=none&dimension=8")
    assert waypost("remember", "The staging server listens on port 8443.").code == 0
    outcome = waypost("doctor")
    assert outcome.code == 1
    assert "does not answer" in outcome.out
    assert "wait for a vector" in outcome.out


def test_reembed_moves_memories_to_another_embedder(
    waypost: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    waypost("remember", "The staging server listens on port 8443.")
    with ScriptedModelServer() as server:
        address = f"openai+{server.base_url}?model=other&dimension=64"
        outcome = waypost("reembed", address)
        assert outcome.code == 0
        assert outcome.out.startswith("1 vectors made")
        refused = waypost("recall", "staging port")
        assert refused.code == 2
        assert "reembed" in refused.err
        monkeypatch.setenv("WAYPOST_EMBEDDER", address)
        assert "port 8443" in waypost("recall", "staging port").out


def test_the_version_is_printed(waypost: CommandLine) -> None:
    outcome = waypost("--version")
    assert outcome.out.startswith("waypost 0.")


def test_help_loads_nothing_heavy() -> None:
    import subprocess
    import sys

    code = """
import sys
from waypost.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
heavy = {"sqlalchemy", "numpy", "alembic", "httpx2", "fastapi", "pydantic"} & sys.modules.keys()
sys.exit(f"loaded {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
