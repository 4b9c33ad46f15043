"""The task benchmark: its worlds are fair, and its reader knows nothing but its prompt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.tasks import main
from benchmarks.tasks_reader import reply
from benchmarks.tasks_world import World

GOAL = "Write the release note of map-api. Say its port, whom to ask."


def asked(*messages: dict[str, Any], context: str = "") -> Any:
    start = [{"role": "system", "content": ""}, {"role": "user", "content": f"{GOAL}\n\n{context}"}]
    return reply({"messages": [*start, *messages], "tools": []})


def note(text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "x", "content": text}


def test_a_world_is_the_same_for_the_same_seed() -> None:
    assert World(3, 12).sessions == World(3, 12).sessions
    assert World(3, 12).sessions != World(4, 12).sessions


def test_every_expected_value_was_told_or_filed_before() -> None:
    world = World(1, 40)
    said = "\n".join(world.notes.values())
    for session in world.sessions:
        for value in session.expected.values():
            assert value in said
        said += "\n" + session.text


def test_the_reader_answers_only_what_its_prompt_says() -> None:
    found = note("The port of map-api is 7001.\nThe port of map-web is 9.\n")
    first = asked(found)
    assert first["tool_calls"][0]["function"]["name"] == "search_notes"
    assert "[port: 7001]" in first["content"]
    complete = asked(found, note("Questions about map-api go to Rosa Ortiz."))
    assert complete == "The owner of map-api is Rosa Ortiz. The port of map-api is 7001."


def test_the_reader_takes_the_latest_thing_it_remembers() -> None:
    context = (
        "@ 2026-03-05 user/high\n- the port of map-api is 2222.\n"
        "@ 2026-03-04 user/high\n- map-api listens on port 1111.\n"
        "  The owner of map-api is Mei Tanaka.\n"
    )
    answer = asked(note("The port of map-api is 7001."), context=context)
    assert answer == "The owner of map-api is Mei Tanaka. The port of map-api is 2222."


def test_with_memory_more_is_solved_in_fewer_turns(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--worlds", "1", "--sessions", "12", "--json"])
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["tasks"] == 8
    assert figures["success"]["with"] > figures["success"]["without"]
    assert figures["turns_saved"] > 0
