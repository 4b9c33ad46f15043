"""A made-up run of many large results, played through the public channel on a real store."""

from __future__ import annotations

import json
from typing import Any

import waypost
from benchmarks.content_replay import valid
from waypost.content.channel import ContentChannel
from waypost.content.entries import ToolCall
from waypost.content.policy import SHOW_EVERYTHING

_WORDS = (
    *("harbour", "ledger", "turbine", "orchard", "signal", "granite", "ferry", "archive"),
    *("lantern", "voyage", "survey", "bridge", "current", "anchor", "timber", "quarry"),
    *("beacon", "channel", "market", "station"),
)


async def heavy_run(steps: int) -> dict[str, Any]:
    """Play ``steps`` steps with and without the channel; bytes and tokens of each."""
    async with waypost.open(":memory:") as engine:
        memory = engine.agent("bench")
        channel = ContentChannel(memory.content("with"))
        plain = ContentChannel(memory.content("without"), policy=SHOW_EVERYTHING)
        for each in (channel, plain):
            each.add_system("You are a research assistant. Use the tools, then answer.")
            each.add_user("Compare the harbours of the region and report what you find.")
        played = [await _step(number, channel, plain) for number in range(1, steps + 1)]
    without = sum(step["bytes_without"] for step in played)
    with_channel = sum(step["bytes_with"] for step in played)
    return {
        "steps": played,
        "peak_with": max(step["bytes_with"] for step in played),
        "saved": 1 - with_channel / without,
        "invalid": sum(not step.pop("valid") for step in played),
    }


async def _step(number: int, channel: ContentChannel, plain: ContentChannel) -> dict[str, Any]:
    name, arguments, result = _result(number)
    shown, full = await channel.prompt(), await plain.prompt()
    for each in (channel, plain):
        said = f"Step {number}: I need {name} next."
        [call] = await each.add_assistant(said, [ToolCall(f"call_{number}", name, arguments)])
        await each.add_result(call.id, result, source=name)
    return {
        "step": number,
        "bytes_without": _size(full.messages),
        "bytes_with": _size(shown.messages),
        "without": full.tokens,
        "with_channel": shown.tokens,
        "valid": valid(shown.messages),
    }


def _size(messages: list[dict[str, Any]]) -> int:
    return len(json.dumps(messages, ensure_ascii=False).encode())


def _result(number: int) -> tuple[str, dict[str, Any], str]:
    """Pages, searches, tables, logs and files in turn; 15 to 120 KB each, the same every time."""
    makers = (_page, _search, _rows, _page, _log, _source)
    return makers[number % len(makers)](number)


def _sentence(seed: int) -> str:
    words = [_WORDS[(seed * 7 + place * (3 + seed % 5)) % len(_WORDS)] for place in range(12)]
    return f"The {' '.join(words)} of {1800 + seed % 200} cost {seed * 37 % 9973} crowns."


def _page(number: int) -> tuple[str, dict[str, Any], str]:
    paragraphs = "".join(
        f"<h2>Part {n}</h2><p>{_sentence(number * 1000 + n)} {_sentence(n * 31 + number)}</p>"
        for n in range(400)
    )
    url = f"https://example.org/harbour/{number}"
    return (
        "visit_page",
        {"url": url},
        (f"<html><head><title>Harbour {number}</title></head><body>{paragraphs}</body></html>"),
    )


def _search(number: int) -> tuple[str, dict[str, Any], str]:
    results = [
        {
            "title": f"Harbour {number}-{n}",
            "url": f"https://example.org/harbour/{number}/{n}",
            "snippet": " ".join(_sentence(number * 50 + n + k) for k in range(5)),
        }
        for n in range(40)
    ]
    return "web_search", {"query": f"harbour {number}"}, json.dumps({"results": results})


def _rows(number: int) -> tuple[str, dict[str, Any], str]:
    rows = [
        {"id": f"H-{number}-{n}", "depth": n % 30, "berths": n * 3 % 101, "note": _sentence(n)}
        for n in range(600)
    ]
    return "run_sql", {"query": "SELECT * FROM berths"}, json.dumps(rows)


def _log(number: int) -> tuple[str, dict[str, Any], str]:
    lines = [
        f"2026-03-{1 + n % 28:02d} 10:{n % 60:02d}:00 INFO ship {n} in lock {number}: {n % 90} s"
        for n in range(1200)
    ]
    lines[700] = "2026-03-09 11:00:00 ERROR lock gate 4 is stuck: pressure 9.2 bar"
    return "read_log", {"lock": number}, "\n".join(lines)


def _source(number: int) -> tuple[str, dict[str, Any], str]:
    functions = "\n\n".join(
        f"def berth_{n}(ship):\n    # {_sentence(n)}\n    return ship.length * {n + number}"
        for n in range(250)
    )
    return "read_file", {"path": f"src/harbour_{number}.py"}, f"import math\n\n{functions}\n"
