"""A stage whose completion is killed anywhere completes the same. ``make torture`` kills 100."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stage_kills import kill_repeatedly


def test_a_process_killed_while_completing_is_finished_by_the_next(tmp_path: Path) -> None:
    assert kill_repeatedly(tmp_path, kills=8, seed=1) > 0


@pytest.mark.torture
def test_a_hundred_kills_while_completing_change_nothing(tmp_path: Path) -> None:
    assert kill_repeatedly(tmp_path, kills=100, seed=2) > 70
