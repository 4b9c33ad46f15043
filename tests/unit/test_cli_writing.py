"""Changing the memory from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import CommandLine


def only_memory(waypost: CommandLine) -> dict[str, object]:
    (record,) = waypost("list", "--json").json
    return dict(record)


def test_remember_reads_the_text_from_stdin(waypost: CommandLine) -> None:
    assert waypost("remember", "-", stdin="The build takes nine minutes.").code == 0
    assert only_memory(waypost)["content"] == "The build takes nine minutes."


def test_remember_places_and_marks_a_memory(waypost: CommandLine) -> None:
    options = ["--task", "t1", "--tag", "ci", "--importance", "0.9", "--critical", "it is the law"]
    waypost("remember", "Keep invoices for ten years.", "--kind", "constraint", *options)
    record = only_memory(waypost)
    assert (record["task_id"], record["tags"], record["importance"]) == ("t1", ["ci"], 0.9)
    assert (record["is_critical"], record["criticality_reason"]) == (True, "it is the law")


def test_the_same_key_stores_once(waypost: CommandLine) -> None:
    for _ in range(2):
        waypost("remember", "The build takes nine minutes.", "--key", "build-time")
    assert only_memory(waypost)["content"] == "The build takes nine minutes."


def test_the_same_key_with_another_text_is_refused(waypost: CommandLine) -> None:
    waypost("remember", "The build takes nine minutes.", "--key", "build-time")
    outcome = waypost("remember", "The build takes two minutes.", "--key", "build-time")
    assert outcome.code == 4
    assert "build-time" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["remember", "  "], "empty"),
        (["remember", "x", "--kind", "Two Words"], "kind"),
        (["remember", "x", "--type", "nonsense"], "type"),
        (["remember", "x", "--when", "yesterday"], "2026-03-05T09:40Z"),
        (["remember", "x", "--when", "2026-03-05T09:40"], "no time zone"),
        (["recall", "  "], "empty"),
        (["show", "nonsense"], "UUID"),
    ],
)
def test_bad_input_is_one_clear_line(
    waypost: CommandLine, arguments: list[str], complaint: str
) -> None:
    outcome = waypost(*arguments)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


def test_update_changes_only_what_was_given(waypost: CommandLine) -> None:
    waypost("remember", "The build takes nine minutes.", "--tag", "ci")
    before = only_memory(waypost)
    waypost("update", str(before["memory_id"]), "--importance", "0.2")
    after = only_memory(waypost)
    assert (after["importance"], after["tags"], after["version"]) == (0.2, ["ci"], 2)


def test_update_without_a_change_is_refused(waypost: CommandLine) -> None:
    waypost("remember", "The build takes nine minutes.")
    assert waypost("update", str(only_memory(waypost)["memory_id"])).code == 2


def test_forget_asks_first(waypost: CommandLine) -> None:
    waypost("remember", "The build takes nine minutes.")
    memory_id = str(only_memory(waypost)["memory_id"])
    assert waypost("forget", memory_id, stdin="n\n").code == 1
    assert only_memory(waypost)["memory_id"] == memory_id
    assert waypost("forget", memory_id, stdin="y\n").code == 0
    assert waypost("list", "--json").json == []


def test_forget_does_not_ask_when_told_so(waypost: CommandLine) -> None:
    waypost("remember", "The build takes nine minutes.")
    assert waypost("forget", str(only_memory(waypost)["memory_id"]), "--yes").code == 0
    assert waypost("list", "--json").json == []


def test_a_file_that_is_no_memory_is_refused_and_left_alone(
    waypost: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear Sir or Madam, this is no database.")
    outcome = waypost("remember", "hello there", "--db", file)
    assert outcome.code == 7
    assert "not a Waypost database" in outcome.err
    assert file.read_text().startswith("Dear Sir")
