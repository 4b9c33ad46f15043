"""What ``waypost doctor`` finds: one finding per part, each with what would put it right.

Looking changes nothing: a memory file that does not exist is not created, and no
text leaves the machine except one word to an embedder that was configured.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Literal

from waypost import __version__, settings
from waypost.cli.session import is_missing_file
from waypost.engine import Engine
from waypost.exceptions import ProviderError, WaypostError
from waypost.store import vectors

State = Literal["ok", "note", "warning", "problem"]

EXTRAS = {
    "postgres": "psycopg",
    "redis": "redis",
    "archive": "obstore",
    "service": "fastapi",
    "openai": "openai",
}


@dataclass(frozen=True)
class Finding:
    """How one part is. ``fix`` says what to do, for everything but ``ok``."""

    part: str
    state: State
    text: str
    fix: str = ""


async def findings(configured: settings.Settings) -> AsyncIterator[Finding]:
    """Look at every part in turn, the machine first."""
    yield Finding("waypost", "ok", f"{__version__} on Python {sys.version.split()[0]}")
    for finding in variable_findings():
        yield finding
    yield sqlite_finding()
    async for finding in memory_findings(configured):
        yield finding
    yield chat_finding(configured)
    yield extras_finding()


def variable_findings() -> Iterator[Finding]:
    for name in settings.unknown_variables():
        text = f"{name} is set, but is no setting"
        yield Finding("settings", "warning", text, "see docs/reference/settings.md for the names")


def sqlite_finding() -> Finding:
    from waypost.store.sqlite import driver, has_wal_reset_race

    module = driver()
    version = module.sqlite_version
    if has_wal_reset_race(tuple(map(int, version.split(".")))):
        return Finding(
            "sqlite",
            "warning",
            f"{version} can damage a file that two processes write at once",
            "install pysqlite3, or keep each memory file to one process",
        )
    return Finding("sqlite", "ok", f"{version}, safe for several processes on one file")


async def memory_findings(configured: settings.Settings) -> AsyncIterator[Finding]:
    if is_missing_file(configured.url):
        yield Finding("memory", "note", f"{configured.url} does not exist yet",
                      "the first `waypost remember` makes it")  # fmt: skip
        return
    try:
        async with settings.opening(configured) as engine:
            yield await contents_finding(engine, configured.agent)
            yield await embedder_finding(engine)
            yield await queue_finding(engine)
    except WaypostError as error:
        yield Finding("memory", "problem", error.message, "check WAYPOST_URL and WAYPOST_EMBEDDER")


async def contents_finding(engine: Engine, agent: str) -> Finding:
    counted = await engine.agent(agent).get_statistics()
    others = len(set(await engine.agents()) - {agent})
    return Finding(
        "memory",
        "ok",
        f"{engine.database.location}; memories of agent {agent!r}: {counted.memories:,}; "
        f"other agents: {others}",
    )


async def embedder_finding(engine: Engine) -> Finding:
    name, dimension = engine.embedder.name, engine.embedder.dimension
    try:
        await engine.embedder.embed_query("hello")
    except ProviderError as error:
        return Finding(
            "embedder",
            "problem",
            f"{name} does not answer: {error.message}",
            "memories are stored and found by their words meanwhile; check WAYPOST_EMBEDDER and "
            "WAYPOST_EMBEDDER_KEY",
        )
    return Finding("embedder", "ok", f"{name}, {dimension} dimensions")


async def queue_finding(engine: Engine) -> Finding:
    depth, oldest, last_error = await engine.database.read(vectors.queue_state)
    if not depth:
        return Finding("vectors", "ok", "every memory has its vector")
    since = f" since {oldest:%Y-%m-%d %H:%M}" if oldest else ""
    reason = f" ({last_error})" if last_error else ""
    text = f"{depth:,} memories wait for a vector{since}{reason}"
    return Finding("vectors", "warning", text, "they are made while any Waypost process is open")


def chat_finding(configured: settings.Settings) -> Finding:
    if configured.chat is None:
        return Finding("chat model", "ok", "none configured: all is made locally")
    work = "summaries" if configured.encoder == "local" else "summaries and every new memory"
    return Finding("chat model", "ok", f"{configured.chat}, for {work}")


def extras_finding() -> Finding:
    present = [name for name, module in EXTRAS.items() if importlib.util.find_spec(module)]
    missing = [name for name in EXTRAS if name not in present]
    text = f"installed: {', '.join(present) or 'none'}"
    if not missing:
        return Finding("extras", "ok", text)
    return Finding("extras", "note", text, f"pip install 'waypost[{','.join(missing)}]' for more")
