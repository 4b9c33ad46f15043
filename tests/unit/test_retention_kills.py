"""Archive, verify, delete: killed anywhere, nothing is lost. ``make torture`` kills 200 times."""

from __future__ import annotations

from pathlib import Path

from benchmarks.torture_archive import torture


def test_a_process_killed_while_archiving_or_restoring_loses_nothing(tmp_path: Path) -> None:
    assert torture(tmp_path, kills=12).findings == []
