"""Runs on the command line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import waypost
from tests.command_line import CommandLine, command_line
from waypost.content.channel import ContentChannel
from waypost.content.conversation import Prompt
from waypost.content.entries import ToolCall
from waypost.content.messages import Style

PAGE = "The harbour of Bergen is old. " * 100


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


@pytest.fixture
def cli(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, url: str
) -> CommandLine:
    return command_line(capsys, monkeypatch, url)


def record(url: str, run_id: str, style: Style = "openai") -> list[Prompt]:
    return asyncio.run(_recorded(url, run_id, style))


async def _recorded(url: str, run_id: str, style: Style) -> list[Prompt]:
    sent = []
    async with waypost.open(url) as engine:
        memory = engine.agent("default")
        recorder = memory.recorder(run_id)
        await recorder.start()
        channel = ContentChannel(memory.content(run_id), recorder=recorder, style=style)
        channel.add_system("You are a clerk.")
        channel.add_user("Read.")
        for n in range(4):
            sent.append(await channel.prompt())
            [call] = await channel.add_assistant("Next.", [ToolCall(f"c{n}", "visit", {"n": n})])
            await channel.add_result(call.id, f"{n} {PAGE}", source="visit")
        await recorder.end()
    return sent


def test_a_run_is_listed_with_its_steps_and_tokens(cli: CommandLine, url: str) -> None:
    sent = record(url, "harbour")
    total = sum(prompt.tokens for prompt in sent)
    assert f"4 steps, {total:,} tokens sent, ended" in cli("run", "list").out
    assert cli("run", "list", "--json").json[0]["steps"] == 4


def test_a_run_shows_what_was_stored_shown_and_compacted(cli: CommandLine, url: str) -> None:
    record(url, "harbour")
    told = cli("run", "show", "harbour").out
    stored = [line for line in told.splitlines() if "stored" in line]
    assert len(stored) == 4
    first = stored[0].split()[2]
    assert f"shown {first}" in told
    assert "; compacted" in told
    assert "text from visit, 3,002 bytes" in told
    events = cli("run", "show", "harbour", "--json").json["events"]
    assert [event["step"] for event in events if event["kind"] == "prompt"] == [1, 2, 3, 4]


def test_a_step_shows_its_messages(cli: CommandLine, url: str) -> None:
    record(url, "harbour")
    shown = cli("run", "show", "harbour", "--step", "2").out
    assert "[tool]" in shown
    assert "→ visit(" in shown
    assert "The harbour of Bergen is old." in shown


def test_replay_prints_the_bytes_that_were_sent(cli: CommandLine, url: str) -> None:
    sent = record(url, "harbour")
    lines = cli("run", "replay", "harbour").out.splitlines()
    assert lines == [json.dumps(prompt.messages, ensure_ascii=False) for prompt in sent]
    assert cli("run", "replay", "harbour", "--step", "3").out == lines[2] + "\n"


def test_replay_in_anthropics_style_has_the_system_text(cli: CommandLine, url: str) -> None:
    sent = record(url, "harbour", "anthropic")
    last = json.loads(cli("run", "replay", "harbour", "--step", "4").out)
    assert last == {"system": "You are a clerk.", "messages": sent[3].messages}


def test_an_unknown_run_or_step_is_explained(cli: CommandLine, url: str) -> None:
    record(url, "harbour")
    unknown = cli("run", "show", "river")
    assert unknown.code != 0
    assert "no run 'river'" in unknown.err
    beyond = cli("run", "replay", "harbour", "--step", "9")
    assert beyond.code != 0
    assert "it has steps 1 to 4" in beyond.err
