"""Commands that ask the memory: recall, context, list, show, history, stats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from waypost.cli.options import Agent, AsJson, Kinds, Project, Tags, Task, Url
from waypost.cli.output import print_json, results
from waypost.cli.session import with_memory
from waypost.cli.writing import moment

if TYPE_CHECKING:
    from waypost.model import HistoryEntry, MemoryRecord

Types = Annotated[
    list[str] | None,
    typer.Option("--type", help="Only this type; may be given several times.", show_default=False),
]


def register(app: typer.Typer) -> None:
    app.command()(recall)
    app.command()(context)
    app.command("list")(list_memories)
    app.command()(show)
    app.command()(history)
    app.command()(stats)


def recall(
    query: Annotated[str, typer.Argument(help="A question, in your own words.")],
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many memories.")] = 5,
    why: Annotated[bool, typer.Option(help="Show a bar per factor and the routes.")] = False,
    kinds: Kinds = None,
    types: Types = None,
    task: Task = None,
    project: Project = None,
    tags: Tags = None,
    as_of: Annotated[
        str | None,
        typer.Option(help="What held at this time, as 2026-03-05T09:40Z.", show_default=False),
    ] = None,
    superseded: Annotated[bool, typer.Option(help="Include superseded facts.")] = False,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Recall the memories that matter for a question, best first."""
    filters: dict[str, Any] = {
        "kinds": tuple(kinds or ()),
        "types": tuple(types or ()),
        "task_id": task,
        "project_id": project,
        "tags": tuple(tags or ()),
        "as_of": moment(as_of),
        "include_superseded": superseded,
    }
    found = with_memory(
        lambda memory: memory.retrieve_memories(query, k, **filters), url=url, agent=agent
    )
    if as_json:
        return print_json(found)
    from waypost.cli import show as layout

    return layout.recalled(results(), found, why=why)


def context(
    query: Annotated[str, typer.Argument(help="What the agent is about to do.")],
    task: Annotated[str | None, typer.Option(help="For this task.", show_default=False)] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="The budget.")] = 2000,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Print the text an agent should read before its next step, within a token budget."""
    package = with_memory(
        lambda memory: memory.get_relevant_context(query, task_id=task, max_tokens=max_tokens),
        url=url,
        agent=agent,
    )
    if as_json:
        print_json(package)
    else:
        print(package.text)


def list_memories(
    kinds: Kinds = None,
    types: Types = None,
    task: Task = None,
    project: Project = None,
    order: Annotated[
        str, typer.Option(help="Field to order by, largest first; - before it reverses.")
    ] = "timestamp",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """List memories, newest first."""
    given = {"kind": kinds, "type": types, "task_id": task, "project_id": project}
    where = {field: value for field, value in given.items() if value}
    records: list[MemoryRecord] = with_memory(
        lambda memory: memory.list_memories(where, order_by=order, limit=limit),
        url=url,
        agent=agent,
    )
    if as_json:
        return print_json(records)
    from waypost.cli import show as layout

    return layout.listed(results(), records)


def show(
    memory_id: Annotated[str, typer.Argument(help="Id of the memory.")],
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Show everything about one memory."""
    record = with_memory(lambda memory: memory.get_memory(memory_id), url=url, agent=agent)
    if as_json:
        return print_json(record)
    from waypost.cli import show as layout

    return results().print(layout.details(record))


def history(
    memory_id: Annotated[str, typer.Argument(help="Id of the memory.")],
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Show what happened to one memory, oldest first."""
    entries: list[HistoryEntry] = with_memory(
        lambda memory: memory.get_history(memory_id), url=url, agent=agent
    )
    if as_json:
        return print_json(entries)
    from waypost.cli import show as layout

    return results().print(layout.history_of(entries))


def stats(url: Url = None, agent: Agent = None, as_json: AsJson = False) -> None:
    """Count what an agent remembers."""
    counted = with_memory(lambda memory: memory.get_statistics(), url=url, agent=agent)
    if as_json:
        return print_json(counted)
    from waypost.cli import show as layout

    return results().print(layout.statistics(counted))
