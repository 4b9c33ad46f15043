"""Import and export as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import CommandLine


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    file = tmp_path / "notes.jsonl"
    rows = [
        {"content": "The staging server listens on port 8443.", "kind": "fact"},
        {"query": "Which Python do we use?", "response": "Python 3.11 everywhere."},
        {"content": "Use tabs in Makefiles.", "timestamp": "2026-03-01T10:00:00Z"},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def contents(waypost: CommandLine, *options: str) -> list[str]:
    return sorted(record["content"] for record in waypost("list", "--json", *options).json)


def test_import_remembers_memories_and_interactions(waypost: CommandLine, lines: Path) -> None:
    outcome = waypost("import", lines)
    assert outcome.code == 0
    assert outcome.out.startswith("3 remembered, 0 known already, 0 skipped")
    assert "port 8443" in waypost("recall", "staging port").out


def test_importing_the_same_file_again_adds_nothing(waypost: CommandLine, lines: Path) -> None:
    waypost("import", lines)
    before = contents(waypost)
    assert "0 remembered, 3 known already" in waypost("import", lines).out
    assert contents(waypost) == before


def test_bad_lines_are_named_and_skipped(waypost: CommandLine, lines: Path) -> None:
    bad = [
        "not json",
        '{"text": "no content"}',
        '{"content": "x", "colour": "red"}',
        '{"content": ""}',
    ]
    lines.write_text(lines.read_text() + "\n".join(bad) + "\n")
    outcome = waypost("import", lines)
    assert outcome.code == 2
    assert "3 remembered, 0 known already, 4 skipped" in outcome.out
    for number, complaint in ((4, "not JSON"), (5, '"content"'), (6, "colour"), (7, "empty")):
        (line,) = (row for row in outcome.err.splitlines() if f"notes.jsonl:{number}:" in row)
        assert complaint in line


def test_a_strict_import_stops_at_the_first_bad_line(waypost: CommandLine, lines: Path) -> None:
    lines.write_text("not json\n" + lines.read_text())
    outcome = waypost("import", lines, "--strict")
    assert outcome.code == 2
    assert "line 1" in outcome.err
    assert contents(waypost) == []


def test_a_line_with_a_used_key_and_another_text_is_skipped(
    waypost: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "keys.jsonl"
    rows = [{"content": text, "idempotency_key": "same"} for text in ("first", "second")]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    outcome = waypost("import", file)
    assert "1 remembered" in outcome.out
    assert "keys.jsonl:2:" in outcome.err


def test_blank_lines_are_ignored(waypost: CommandLine, lines: Path) -> None:
    lines.write_text("\n" + lines.read_text().replace("\n", "\n\n"))
    assert "3 remembered, 0 known already, 0 skipped" in waypost("import", lines).out


def test_a_missing_file_is_an_error(waypost: CommandLine, tmp_path: Path) -> None:
    assert waypost("import", tmp_path / "missing.jsonl").code == 2


def test_what_was_exported_can_be_imported_elsewhere(
    waypost: CommandLine, lines: Path, tmp_path: Path
) -> None:
    waypost("import", lines)
    exported = tmp_path / "export.jsonl"
    assert "written to" in waypost("export", exported).out
    other = str(tmp_path / "other.db")
    assert waypost("import", exported, "--db", other).code == 0
    assert contents(waypost, "--db", other) == contents(waypost)


def test_export_writes_to_stdout_oldest_first(waypost: CommandLine, lines: Path) -> None:
    waypost("import", lines)
    rows = [json.loads(line) for line in waypost("export").out.splitlines()]
    assert rows[0]["content"] == "The staging server listens on port 8443."
    assert [row["memory_id"] for row in rows] == sorted(row["memory_id"] for row in rows)
    assert all("embedding" not in row for row in rows)


def test_export_of_more_than_one_page_is_complete(waypost: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    rows = ({"content": f"Item {number} is on shelf {number % 7}."} for number in range(1200))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    waypost("import", file)
    assert len(waypost("export").out.splitlines()) == 1200


def test_an_export_that_cannot_be_written_is_an_error(waypost: CommandLine, lines: Path) -> None:
    waypost("import", lines)
    outcome = waypost("export", "/nowhere/export.jsonl")
    assert outcome.code == 2
    assert "cannot be written" in outcome.err
