"""Prune, restore and erase on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import CommandLine


@pytest.fixture
def notes(waypost: CommandLine, tmp_path: Path) -> list[str]:
    """Ten notes, the oldest first; the ids."""
    lines = [
        {"content": f"Observation {n}: it read {n * 7}", "timestamp": f"2026-01-{n + 1:02}T00:00Z"}
        for n in range(10)
    ]
    file = tmp_path / "notes.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    waypost("import", file)
    listed = waypost("list", "--order", "-timestamp", "--json").json
    return [record["memory_id"] for record in listed]


def count(waypost: CommandLine) -> int:
    return len(waypost("list", "--json").json)


def test_prune_archives_a_fifth_after_asking(waypost: CommandLine, notes: list[str]) -> None:
    refused = waypost("prune", "--strategy", "oldest_first", stdin="n\n")
    assert (refused.code, count(waypost)) == (1, 10)
    assert "Archive 2 of 10 memories" in refused.err
    done = waypost("prune", "--strategy", "oldest_first", stdin="y\n")
    assert done.out.strip().startswith("Archived 2 of 10 memories")
    assert count(waypost) == 8


def test_a_dry_run_changes_nothing(waypost: CommandLine, notes: list[str]) -> None:
    outcome = waypost("prune", "--share", "0.5", "--dry-run")
    assert outcome.out.startswith("Would archive 5 of 10 memories")
    assert "Would erase" in waypost("erase", "--all", "--dry-run").out
    assert count(waypost) == 10


def test_prune_answers_in_json(waypost: CommandLine, notes: list[str], tmp_path: Path) -> None:
    where = json.dumps({"memory_id": {"$in": notes[:3]}})
    report = waypost("prune", "--where", where, "--share", "1", "--yes", "--json").json
    assert report["pruned_count"] == 3
    assert sorted(report["memory_ids"]) == sorted(notes[:3])
    assert report["archive"] == str(tmp_path / "memory.db.archive")


def test_nothing_to_prune_is_said_without_asking(waypost: CommandLine, notes: list[str]) -> None:
    outcome = waypost("prune", "--tier", "task")
    assert outcome.out == "Archived 0 of 0 memories (0 tokens)\n"


def test_restore_by_id_by_filter_and_all(waypost: CommandLine, notes: list[str]) -> None:
    waypost("prune", "--share", "1", "--yes")
    assert waypost("restore", notes[0], "--yes").out == "Restored 1 memory\n"
    where = json.dumps({"content": {"$contains": "Observation 7"}})
    assert waypost("restore", "--where", where, "--dry-run").out == "Would restore 1 memory\n"
    assert waypost("restore", "--where", where, "--yes").out == "Restored 1 memory\n"
    assert waypost("restore", "--all", "--yes", "--json").json["restored_count"] == 8
    assert waypost("restore", "--all").out == "Restored 0 memories\n"
    assert count(waypost) == 10


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("restore",), 2, "--all"),
        (("restore", "--all", "--where", "{}"), 2, "--all"),
        (("restore", "01890a5d-ac96-774b-bcce-b302099a8057"), 3, "not in the archive"),
        (("prune", "--where", "{kind"), 2, "not JSON"),
        (("prune", "--where", "[]"), 2, "JSON object"),
        (("prune", "--where", '{"colour": 1}'), 2, "no field 'colour'"),
        (("prune", "--type", "sensory"), 2, "working, episodic"),
        (("prune", "--strategy", "random"), 2, "least_relevant"),
        (("prune", "--share", "0"), 2, "share"),
        (("erase",), 2, "--source"),
        (("erase", "--all", "--source", "x"), 2, "--source"),
        (("erase", "--source", " "), 2, "source is empty"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    waypost: CommandLine, arguments: tuple[str, ...], code: int, message: str
) -> None:
    waypost("remember", "Something")
    outcome = waypost(*arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err


def test_erase_destroys_a_source_after_asking(waypost: CommandLine, tmp_path: Path) -> None:
    lines = tmp_path / "in.jsonl"
    lines.write_text('{"content": "From the leak", "source": "leak"}\n{"content": "Mine"}\n')
    waypost("import", lines)
    refused = waypost("erase", "--source", "leak", stdin="n\n")
    assert (refused.code, count(waypost)) == (1, 2)
    assert "Erase source 'leak' for good" in refused.err
    done = waypost("erase", "--source", "leak", "--yes")
    assert done.out.startswith("Erased ")
    assert "memories" in done.out
    assert [record["content"] for record in waypost("list", "--json").json] == ["Mine"]
    assert waypost("erase", "--source", "leak", "--yes").out == "Nothing to erase\n"


def test_erase_all_empties_the_agent(waypost: CommandLine, notes: list[str]) -> None:
    waypost("prune", "--yes")
    report = waypost("erase", "--all", "--yes", "--json").json
    assert report["rows"]["memories"] == 8
    assert report["archive_objects_deleted"] == 2
    assert count(waypost) == 0
    assert waypost("restore", "--all").out == "Restored 0 memories\n"
