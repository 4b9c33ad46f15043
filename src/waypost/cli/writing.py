"""Commands that change the memory: remember, update, forget."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from waypost.cli.options import Agent, AsJson, Url
from waypost.cli.output import print_json, results
from waypost.cli.session import with_memory
from waypost.exceptions import InvalidInput

if TYPE_CHECKING:
    from waypost.memory import MemoryManager
    from waypost.model import Stored


def register(app: typer.Typer) -> None:
    app.command()(remember)
    app.command()(update)
    app.command()(forget)


def remember(
    text: Annotated[str, typer.Argument(help="What to remember; - reads it from stdin.")],
    kind: Annotated[
        str | None,
        typer.Option(help="fact, decision, constraint, preference, failure, …", show_default=False),
    ] = None,
    memory_type: Annotated[
        str | None,
        typer.Option(
            "--type", help="working, episodic, semantic or procedural.", show_default=False
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="The task it belongs to.", show_default=False)
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="The project it belongs to.", show_default=False)
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", help="A tag; may be repeated.", show_default=False)
    ] = None,
    importance: Annotated[
        float | None, typer.Option(min=0, max=1, help="From 0 to 1.", show_default=False)
    ] = None,
    critical: Annotated[
        str | None,
        typer.Option(help="Mark it as critical, for this reason.", show_default=False),
    ] = None,
    when: Annotated[
        str | None,
        typer.Option(
            help="When it happened, as 2026-03-05T09:40Z; now by default.", show_default=False
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help="Idempotency key: the same key stores once.", show_default=False),
    ] = None,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Remember one text. It is durable when the command returns."""
    fields = {
        "kind": kind,
        "type": memory_type,
        "task_id": task,
        "project_id": project,
        "tags": tuple(tags or ()),
        "importance": importance,
        "is_critical": critical is not None,
        "criticality_reason": critical,
        "timestamp": moment(when),
        "idempotency_key": key,
        "origin": "user",
    }
    content = text_or_stdin(text)
    stored = with_memory(
        lambda memory: memory.add_memory(content, **fields), url=url, agent=agent, creates=True
    )
    if as_json:
        print_json(stored)
    else:
        print_receipt(stored)


def print_receipt(stored: Stored) -> None:
    console = results()
    word = "Already known as" if stored.duplicate else "Remembered"
    console.print(f"{word} {stored.memory_id} ({stored.memory.kind}, {stored.memory.type})")
    for closed in stored.superseded:
        console.print(f"It supersedes {closed}")
    if not stored.embedded:
        console.print("[yellow]Found by its words for now; its vector follows later[/yellow]")


def update(
    memory_id: Annotated[str, typer.Argument(help="Id of the memory.")],
    content: Annotated[str | None, typer.Option(help="New text.", show_default=False)] = None,
    kind: Annotated[str | None, typer.Option(help="New kind.", show_default=False)] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", help="New tags, instead of the old ones.", show_default=False),
    ] = None,
    importance: Annotated[
        float | None, typer.Option(min=0, max=1, help="From 0 to 1.", show_default=False)
    ] = None,
    critical: Annotated[
        bool | None, typer.Option(help="Critical or not.", show_default=False)
    ] = None,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Change a memory. What it was before stays in its history."""
    given: dict[str, Any] = {
        "content": None if content is None else text_or_stdin(content),
        "kind": kind,
        "tags": None if tags is None else tuple(tags),
        "importance": importance,
        "is_critical": critical,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    record = with_memory(
        lambda memory: memory.update_memory(memory_id, actor="cli", **changes), url=url, agent=agent
    )
    if as_json:
        print_json(record)
    else:
        results().print(f"Updated {record.memory_id} (version {record.version})")


def forget(
    memory_id: Annotated[str, typer.Argument(help="Id of the memory.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    url: Url = None,
    agent: Agent = None,
) -> None:
    """Delete one memory for good."""

    async def work(memory: MemoryManager) -> None:
        record = await memory.get_memory(memory_id)
        if not yes:
            typer.confirm(f"Forget for good: {record.summary!r}?", abort=True)
        await memory.forget_memory(memory_id, actor="cli")

    with_memory(work, url=url, agent=agent)
    results().print(f"Forgot {memory_id}")


def text_or_stdin(text: str) -> str:
    return sys.stdin.read() if text == "-" else text


def moment(text: str | None) -> datetime | None:
    """Read a time; it needs a zone, since a guess would be wrong twice a year."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is not a time; write it as 2026-03-05T09:40Z") from None
    if time.tzinfo is None:
        raise InvalidInput(f"{text!r} has no time zone; write it as {time:%Y-%m-%dT%H:%M}Z for UTC")
    return time
