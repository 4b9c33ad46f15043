"""Commands that ask the memory: recall, context, list, show, history, stats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from waypost.cli.options import (
    Agent,
    AsJson,
    Kinds,
    Project,
    Since,
    Tags,
    Task,
    Tier,
    Until,
    Url,
    Where,
)
from waypost.cli.output import messages, print_json, results
from waypost.cli.session import with_memory
from waypost.cli.writing import moment
from waypost.exceptions import InvalidInput, NotFound

if TYPE_CHECKING:
    from waypost.memory import MemoryManager
    from waypost.model import HistoryEntry, MemoryRecord, Recall, Weights

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
    tier: Tier = None,
    tags: Tags = None,
    entities: Annotated[
        list[str] | None,
        typer.Option("--entity", help="Only what names this.", show_default=False),
    ] = None,
    keywords: Annotated[
        list[str] | None,
        typer.Option("--keyword", help="Only what has this keyword.", show_default=False),
    ] = None,
    since: Since = None,
    until: Until = None,
    where: Where = None,
    half_life: Annotated[
        float | None,
        typer.Option(help="Hours in which recency halves.", show_default=False),
    ] = None,
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
        "tier": tier,
        "tags": tuple(tags or ()),
        "entities": tuple(entities or ()),
        "keywords": tuple(keywords or ()),
        "time_range": time_range(since, until),
        "where": as_filter(where),
        "half_life_hours": half_life,
        "as_of": moment(as_of),
        "include_superseded": superseded,
    }

    async def ask(memory: MemoryManager) -> tuple[Recall, Weights]:
        found = await memory.retrieve_memories(query, k, **filters)
        return found, (await memory.get_profile()).weights

    found, weights = with_memory(ask, url=url, agent=agent)
    if as_json:
        return print_json(found)
    from waypost.cli import show as layout

    return layout.recalled(results(), found, why=why, weights=weights)


def time_range(since: str | None, until: str | None) -> dict[str, Any] | None:
    return None if since is until is None else {"start": moment(since), "end": moment(until)}


def as_filter(text: str | None) -> dict[str, Any]:
    """A filter written as JSON."""
    try:
        given = json.loads(text or "{}")
    except ValueError as error:
        raise InvalidInput(f"--where is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise InvalidInput('--where is a JSON object such as {"kind": "fact"}')
    return given


def context(
    query: Annotated[str, typer.Argument(help="What the agent is about to do.")],
    task: Annotated[str | None, typer.Option(help="For this task.", show_default=False)] = None,
    project: Annotated[
        str | None, typer.Option(help="For this project.", show_default=False)
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="The budget.")] = 2000,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Print the text an agent should read before its next step, within a token budget."""
    package = with_memory(
        lambda memory: memory.get_relevant_context(
            query, task_id=task, max_tokens=max_tokens, project_id=project
        ),
        url=url,
        agent=agent,
    )
    if as_json:
        print_json(package)
    elif package.text:
        print(package.text)
    else:
        messages().print("Nothing is remembered that would help.", style="dim")


def list_memories(
    kinds: Kinds = None,
    types: Types = None,
    task: Task = None,
    project: Project = None,
    tier: Tier = None,
    tags: Tags = None,
    since: Since = None,
    until: Until = None,
    where: Where = None,
    order: Annotated[
        str, typer.Option(help="Field to order by, largest first; - before it reverses.")
    ] = "timestamp",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """List memories, newest first."""
    given = {"kind": kinds, "type": types, "task_id": task, "project_id": project, "tier": tier}
    wanted: list[dict[str, Any]] = [{field: value} for field, value in given.items() if value]
    wanted += [{"tags": {"$contains": tag}} for tag in tags or ()]
    wanted += [{"timestamp": {"$gte": moment(since)}}] if since else []
    wanted += [{"timestamp": {"$lt": moment(until)}}] if until else []
    condition = {"$and": [*wanted, as_filter(where)]}
    records: list[MemoryRecord] = with_memory(
        lambda memory: memory.list_memories(condition, order_by=order, limit=limit),
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
    if not entries:
        raise NotFound(f"nothing is known of a memory {memory_id}")
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
