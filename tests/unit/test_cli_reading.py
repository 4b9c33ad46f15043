"""Asking the memory from the command line."""

from __future__ import annotations

import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from waypost.cli import main

STORED = (
    ("The staging server listens on port 8443.", "fact"),
    ("Use tabs in Makefiles.", "convention"),
    ("The deploy failed because the disk was full.", "failure"),
)


@pytest.fixture
def remembered(waypost: CommandLine) -> CommandLine:
    for text, kind in STORED:
        assert waypost("remember", text, "--kind", kind).code == 0
    return waypost


def test_recall_prints_the_best_memory_first(remembered: CommandLine) -> None:
    outcome = remembered("recall", "which port does staging use", "-k", "1")
    assert outcome.code == 0
    assert "port 8443" in outcome.out
    assert "Makefiles" not in outcome.out


def test_recall_with_why_shows_a_bar_per_factor_and_the_routes(remembered: CommandLine) -> None:
    out = remembered("recall", "which port does staging use", "--why").out
    for word in ("relevance", "recency", "frequency", "stage", "criticality", "found by", "█"):
        assert word in out


def test_recall_as_json_is_one_document_without_vectors(remembered: CommandLine) -> None:
    answer = remembered("recall", "staging port", "--json").json
    assert answer["memories"][0]["memory"]["content"] == STORED[0][0]
    assert answer["degraded"] is False
    assert "embedding" not in answer["memories"][0]["memory"]


def test_recall_says_so_when_nothing_was_found(remembered: CommandLine) -> None:
    assert "Nothing found" in remembered("recall", "anything", "--tag", "none").out


@pytest.mark.parametrize(
    "command", ["recall x", "list", "stats", "context x", "export", "prune -y", "reembed local"]
)
def test_only_storing_makes_a_memory(waypost: CommandLine, tmp_path: Path, command: str) -> None:
    missing = tmp_path / "missing.db"
    outcome = waypost(*command.split(), "--db", missing)
    assert outcome.code == 3
    assert "`waypost remember` makes one" in outcome.err
    assert not missing.exists()


def test_recall_and_list_take_every_filter(waypost: CommandLine) -> None:
    waypost("remember", "The crawler of Lisbon broke", "--tag", "bug", "--project", "web",
            "--when", "2026-03-02T09:00Z", "--importance", "0.9")  # fmt: skip
    waypost("remember", "The crawler is slow", "--when", "2026-04-01T09:00Z", "--importance", "0.1")
    common = (
        ("--tag", "bug"),
        ("--tier", "project"),
        ("--until", "2026-03-03T00:00Z"),
        ("--since", "2026-03-01T00:00Z", "--until", "2026-03-03T00:00Z"),
        ("--where", '{"importance": {"$gte": 0.5}}'),
    )
    for options in (*common, ("--entity", "Lisbon"), ("--keyword", "lisbon")):
        found = waypost("recall", "crawler", "--json", *options).json["memories"]
        assert ["broke" in item["memory"]["content"] for item in found] == [True], options
    for options in common:
        (record,) = waypost("list", "--json", *options).json
        assert "broke" in record["content"], options


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("recall", "x", "--where", "{"), "--where is not JSON"),
        (("list", "--where", "[]"), "JSON object"),
        (("list", "--where", '{"colour": 1}'), "no field 'colour'"),
        (("recall", "x", "--as-of", "2026-01-01"), "write it as 2026-01-01T00:00Z"),
        (("recall", "x", "--type", "eternal"), "'eternal' is not one of working"),
        (("recall", "x", "--half-life", "0"), "half_life_hours"),
        (("remember", "x", "--kind", "Bad Kind"), "lower-case letters"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(
    waypost: CommandLine, arguments: tuple[str, ...], complaint: str
) -> None:
    outcome = waypost(*arguments)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_history_of_an_unknown_memory_is_an_error(waypost: CommandLine) -> None:
    assert waypost("history", "01a1e165-eb3f-7000-bb16-a8b0c7a4797d").code == 3


def test_ids_can_be_copied_from_a_narrow_terminal(
    remembered: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (newest,) = remembered("list", "--limit", "1", "--json").json
    monkeypatch.setenv("COLUMNS", "44")
    assert newest["memory_id"] in remembered("list").out
    out = remembered("recall", "disk full", "-k", "1", "--why").out
    assert newest["memory_id"] in "".join(out.split())
    assert all(f"{factor} " in out for factor in ("relevance", "criticality"))


def test_recall_can_be_narrowed_to_a_kind(remembered: CommandLine) -> None:
    found = remembered("recall", "what happened", "--kind", "failure", "--json").json["memories"]
    assert [item["memory"]["kind"] for item in found] == ["failure"]


def test_a_superseded_fact_is_left_out_unless_asked_for(waypost: CommandLine) -> None:
    waypost("remember", "The release manager is Ana.", "--kind", "fact")
    receipt = waypost("remember", "The release manager is Bo.", "--kind", "fact")
    assert "It supersedes" in receipt.out
    assert "Ana" not in waypost("recall", "who is the release manager").out
    everything = waypost("recall", "who is the release manager", "--superseded").out
    assert "Ana" in everything
    assert "superseded" in everything


def test_recall_can_say_what_held_at_an_earlier_time(waypost: CommandLine) -> None:
    waypost(
        "remember", "The release manager is Ana.", "--kind", "fact", "--when", "2026-01-01T00:00Z"
    )
    waypost(
        "remember", "The release manager is Bo.", "--kind", "fact", "--when", "2026-02-01T00:00Z"
    )
    out = waypost("recall", "release manager", "--as-of", "2026-01-15T00:00Z").out
    assert "Ana" in out
    assert "Bo." not in out


def test_context_is_printed_as_plain_text_within_the_budget(remembered: CommandLine) -> None:
    package = remembered(
        "context", "open staging in a browser", "--max-tokens", "300", "--json"
    ).json
    assert package["token_count"] <= 300
    assert "8443" in package["text"]
    assert "8443" in remembered("context", "open staging in a browser").out


def test_list_shows_the_newest_first_and_can_be_limited(remembered: CommandLine) -> None:
    out = remembered("list", "--limit", "2").out
    assert "disk was full" in out.splitlines()[0]
    assert "8443" not in out


def test_list_refuses_to_order_by_a_field_that_does_not_exist(remembered: CommandLine) -> None:
    outcome = remembered("list", "--order", "nonsense")
    assert outcome.code == 2
    assert "nonsense" in outcome.err


def test_show_gives_every_field_of_one_memory(remembered: CommandLine) -> None:
    (newest,) = remembered("list", "--limit", "1", "--json").json
    out = remembered("show", newest["memory_id"]).out
    assert newest["content"] in out
    assert newest["memory_id"] in out
    assert "token count" in out


def test_show_says_when_there_is_no_such_memory(waypost: CommandLine) -> None:
    outcome = waypost("show", "01a1e165-eb3f-7000-bb16-a8b0c7a4797d")
    assert outcome.code == 3
    assert outcome.err.startswith("waypost: ")
    assert len(outcome.err.splitlines()) == 1


def test_history_tells_what_a_memory_was_before(remembered: CommandLine) -> None:
    (newest,) = remembered("list", "--limit", "1", "--json").json
    remembered("update", newest["memory_id"], "--content", "The deploy failed: disk full.")
    out = remembered("history", newest["memory_id"]).out
    assert "update" in out
    assert "because the disk was full" in " ".join(out.split())


def test_stats_count_by_kind(remembered: CommandLine) -> None:
    counted = remembered("stats", "--json").json
    assert counted["memories"] == 3
    assert counted["by_kind"] == {"convention": 1, "fact": 1, "failure": 1}
    assert "kind convention" in remembered("stats").out


def test_agents_do_not_see_each_other(remembered: CommandLine) -> None:
    assert "No memories" in remembered("list", "--agent", "somebody-else").out


def test_a_terminal_without_unicode_gets_plain_bars(
    remembered: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ascii_only = TextIOWrapper(BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", ascii_only)
    with pytest.raises(SystemExit):
        main(["recall", "which port does staging use", "--why"])
    ascii_only.flush()
    text = ascii_only.buffer.getvalue().decode("ascii")  # type: ignore[attr-defined]
    assert "port 8443" in text
    assert "####" in text
