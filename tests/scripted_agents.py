"""What the tests of agents share: pages, tools, calls of a scripted model, broken memories."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from waypost import Interaction
from waypost.agents import (
    MemoryEnabledAgent,
    RunContext,
    tool,
)
from waypost.agents.tools import ToolError
from waypost.testing import HashEmbedder, ScriptedModelServer

PAGE = "\n\n".join(f"Paragraph {n}: the pier of house {n * 7} is {n} metres." for n in range(1, 80))


def call(name: str, *, text: str | None = None, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    return {"role": "assistant", "content": text, "tool_calls": calls}


@tool
def visit(page: str) -> str:
    """Read a page."""
    if page == "missing":
        raise ToolError("there is no such page; there are a and b")
    return f"{page}\n{PAGE}"


@tool
def measure(run: RunContext, length: float, unit: str = "m") -> str:
    """Measure something for the application."""
    run.context.append((length, unit))
    return f"{length} {unit}"


def sent(server: ScriptedModelServer) -> list[list[dict[str, Any]]]:
    return [list(request.body["messages"]) for request in server.requests]


def bad_arguments() -> dict[str, Any]:
    return {"id": "x", "type": "function", "function": {"name": "visit", "arguments": "{page: a"}}


def lose_tables(path: Path) -> None:
    """Damage the database under the running engine, as a failing disk would."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in rows:
            if not name.startswith("sqlite_"):
                connection.execute(f"DROP TABLE {name}")
        connection.commit()


class Librarian(MemoryEnabledAgent):
    """Answers with what it was told, and fails on demand."""

    seen: str = ""

    async def process_query(self, query: str, context: str) -> str | Interaction:
        self.seen = context
        if "crash" in query:
            raise RuntimeError("the shelf fell over")
        if "how" in query.lower():
            return Interaction(query=query, response="By ladder.", success=True)
        return "The atlas is on shelf 12."


class Asleep:
    """An embedder that never answers a question."""

    name = "asleep"
    dimension = 64

    async def embed_documents(self, texts: Any) -> Any:
        return await HashEmbedder(64).embed_documents(texts)

    async def embed_query(self, text: str) -> Any:
        await asyncio.Event().wait()

    async def aclose(self) -> None: ...
