"""A result of 100 MB: stored, cited, read in part and shown, in bounded memory.

The work runs in a process of its own, so that its peak is its own. It may grow by less than the
size of the result; holding the text even once would be more.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import asyncio, json, resource, sys
import waypost
from waypost.content.channel import ContentChannel
from waypost.content.entries import ToolCall

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def log():
    for start in range(0, 2_000_000, 1000):
        yield b"".join(
            b"%08d INFO request served from the cache in %4d ms\\n" % (n, n % 997)
            for n in range(start, start + 1000)
        )

async def main(path):
    async with waypost.open(path) as engine:
        content = engine.agent("a").content("r")
        channel = ContentChannel(content)
        channel.add_user("Read the log.")
        await content.store("small")
        before = peak()
        [call] = await channel.add_assistant("I read.", [ToolCall("c", "read_log", {})])
        item = await channel.add_result(call.id, log(), source="read_log")
        views = {}
        for name, params in (
            ("full", {}), ("summary", {}), ("last_n", {"n": 1}),
            ("excerpt", {"around": "01999998", "length": 60}),
            ("filtered", {"regex": "01999997 "}),
            ("filtered", {"question": "Which request was 01999996?"}),
        ):
            view = await content.retrieve(item.content_id, name, **params)
            views[name + "".join(params)] = [view.text[-400:], view.token_count]
        prompt = await channel.prompt()
        print(json.dumps({
            "size": item.size, "grown": peak() - before, "views": views,
            "tokens": prompt.tokens, "citation": (await content.cite(item.content_id)).text,
        }))

asyncio.run(main(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("large") / "memory.db"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)], capture_output=True, text=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    result["file"] = sum(part.stat().st_size for part in Path(path.parent).iterdir())
    return result


def test_it_never_fills_the_memory(measured: dict[str, Any]) -> None:
    assert measured["size"] == 110_000_000
    assert measured["grown"] < measured["size"]


def test_it_never_fills_the_prompt(measured: dict[str, Any]) -> None:
    assert measured["tokens"] < 4100
    assert "(110.0 MB, " in measured["citation"]


def test_it_is_compressed_at_rest(measured: dict[str, Any]) -> None:
    assert measured["file"] < measured["size"] / 5


def test_any_part_of_it_can_be_read(measured: dict[str, Any]) -> None:
    views = measured["views"]
    assert views["last_nn"][0].startswith("01999999 INFO")
    for name, wanted in (
        ("excerptaroundlength", "01999998 INFO"),
        ("filteredregex", "01999997 INFO"),
        ("filteredquestion", "01999996 INFO"),
    ):
        assert wanted in views[name][0]
    assert all(tokens <= 8000 for _, tokens in views.values())
