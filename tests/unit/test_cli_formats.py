"""Importing what other memories export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine


def imported(waypost: CommandLine, file: Path, format_: str, value: Any) -> list[dict[str, Any]]:
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    outcome = waypost("import", file, "--format", format_)
    assert outcome.code == 0, outcome.err
    assert "0 remembered" in waypost("import", file, "--format", format_).out
    records: list[dict[str, Any]] = waypost("list", "--order", "-timestamp", "--json").json
    return records


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "other.json"


def test_mem0(waypost: CommandLine, file: Path) -> None:
    answer = {
        "results": [
            {
                "id": "8f1c",
                "memory": "Likes green tea",
                "hash": "d41d8",
                "metadata": {"channel": "chat"},
                "created_at": "2026-02-01T09:00:00.123456-08:00",
                "updated_at": None,
                "user_id": "alice",
                "categories": ["drinks"],
            }
        ]
    }
    (record,) = imported(waypost, file, "mem0", answer)
    assert record["content"] == "Likes green tea"
    assert record["timestamp"].startswith("2026-02-01T17:00:00.123456")
    assert record["tags"] == ["drinks"]
    assert record["origin"] == "import"
    assert record["metadata"] == {"channel": "chat", "id": "8f1c", "user_id": "alice"}


def test_a_conversation_is_a_run_of_messages_in_order(waypost: CommandLine, file: Path) -> None:
    talk = {
        "messages": [
            {"role": "user", "content": "Which port does staging use?"},
            {"role": "assistant", "content": [{"type": "text", "text": "Port 8443."}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
            {"role": "tool", "content": "8443 open"},
        ]
    }
    records = imported(waypost, file, "messages", talk)
    assert [(one["source"], one["origin"], one["content"]) for one in records] == [
        ("user", "user", "Which port does staging use?"),
        ("assistant", "agent", "Port 8443."),
        ("tool", "tool", "8443 open"),
    ]
    assert {one["run_id"] for one in records} == {"other-1"}


def test_messages_one_per_line_keep_their_times(waypost: CommandLine, file: Path) -> None:
    lines = [
        {"role": "user", "content": "hello", "timestamp": "2026-02-01T09:00:00", "name": "Ana"},
        {"role": "assistant", "content": "hi", "timestamp": "2026-02-01T09:00:05Z"},
    ]
    records = imported(waypost, file, "messages", "\n".join(map(json.dumps, lines)))
    assert [(one["source"], one["timestamp"]) for one in records] == [
        ("Ana", "2026-02-01T09:00:00Z"),
        ("assistant", "2026-02-01T09:00:05Z"),
    ]


def test_facts_of_zep_keep_the_time_they_held(waypost: CommandLine, file: Path) -> None:
    facts = [
        {
            "uuid": "e-1",
            "name": "WORKS_AT",
            "fact": "Ana works at Acme",
            "created_at": "2026-01-02T00:00:00Z",
            "valid_at": "2025-06-01T00:00:00Z",
            "invalid_at": "2026-01-01T00:00:00Z",
        }
    ]
    (record,) = imported(waypost, file, "zep", {"edges": facts})
    assert (record["kind"], record["valid_from"], record["valid_to"]) == (
        "fact",
        "2025-06-01T00:00:00Z",
        "2026-01-01T00:00:00Z",
    )
    assert record["metadata"] == {"uuid": "e-1", "name": "WORKS_AT"}


def test_passages_of_letta(waypost: CommandLine, file: Path) -> None:
    passage = {"id": "passage-1", "text": "Bo prefers mornings", "tags": ["people"],
               "created_at": "2026-01-02T00:00:00+00:00", "embedding": [0.1, 0.2]}  # fmt: skip
    (record,) = imported(waypost, file, "letta", [passage])
    assert (record["content"], record["tags"]) == ("Bo prefers mornings", ["people"])
    assert record["metadata"] == {"id": "passage-1"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[1]", "is a JSON object"),
        ('[{"text": "x"}]', "has no text; its fields are text"),
        ("hello\nworld", "is not JSON"),
    ],
)
def test_a_file_of_another_kind_is_refused(
    waypost: CommandLine, file: Path, text: str, complaint: str
) -> None:
    file.write_text(text)
    outcome = waypost("import", file, "--format", "mem0")
    assert outcome.code == 2
    assert complaint in outcome.err
    assert waypost("list", "--json").json == []


def test_an_unknown_format_names_the_known_ones(waypost: CommandLine, file: Path) -> None:
    file.write_text("[]")
    outcome = waypost("import", file, "--format", "excel")
    assert outcome.code == 2
    assert "mem0" in outcome.err


def test_a_dash_reads_stdin_and_writes_stdout(waypost: CommandLine) -> None:
    assert "1 remembered" in waypost("import", "-", stdin='{"content": "from a pipe"}\n').out
    assert '"from a pipe"' in waypost("export", "-").out
