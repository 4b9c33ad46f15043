"""Archive, verify, delete: killed anywhere, nothing is lost. ``make torture`` kills 200 times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.archive_kills import kill_repeatedly


def test_a_process_killed_while_archiving_or_restoring_loses_nothing(tmp_path: Path) -> None:
    assert kill_repeatedly(tmp_path, kills=15, seed=1) > 0


@pytest.mark.torture
def test_two_hundred_kills_while_archiving_or_restoring_lose_nothing(tmp_path: Path) -> None:
    assert kill_repeatedly(tmp_path, kills=200, seed=2) > 150
