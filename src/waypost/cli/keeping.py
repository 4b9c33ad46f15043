"""Commands that keep memory bounded, or destroy it: prune, restore, erase.

Each first says what it is about to do and asks; ``--yes`` answers for scripts and
``--dry-run`` stops there. Progress goes to stderr, the result to stdout.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from waypost.cli.options import Agent, AsJson, Url
from waypost.cli.output import print_json, progress, results
from waypost.cli.session import with_memory
from waypost.exceptions import InvalidInput

if TYPE_CHECKING:
    from waypost.memory import MemoryManager
    from waypost.model.retention import ErasureReport, PruneReport, RestoreReport

T = TypeVar("T")

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Where = Annotated[
    str | None,
    typer.Option(
        help='Only what matches this filter, as JSON: \'{"kind": "note"}\'.', show_default=False
    ),
]


def register(app: typer.Typer) -> None:
    app.command()(prune)
    app.command()(restore)
    app.command()(erase)


def prune(
    layer: Annotated[
        str | None,
        typer.Option(
            "--type", help="working, episodic, semantic or procedural.", show_default=False
        ),
    ] = None,
    tier: Annotated[
        str | None, typer.Option(help="task, project or global.", show_default=False)
    ] = None,
    where: Where = None,
    strategy: Annotated[
        str,
        typer.Option(help="least_relevant, oldest_first, frequency_based or least_important."),
    ] = "least_relevant",
    share: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="The part that goes; a fifth.", show_default=False),
    ] = None,
    max_items: Annotated[
        int | None,
        typer.Option(min=1, help="Until no more memories than these are left.", show_default=False),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Until no more tokens than these are left.", show_default=False),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Move the least missed memories into the archive. Critical ones stay; all can be restored."""
    options: dict[str, Any] = {
        "memory_layer": layer,
        "tier": tier,
        "where": filter_from(where),
        "strategy": strategy,
        "share": share,
        "max_items": max_items,
        "max_tokens": max_tokens,
    }

    async def work(memory: MemoryManager) -> PruneReport:
        planned = await memory.prune(dry_run=True, **options)
        if dry_run or not planned.memory_ids:
            return planned
        confirm(f"Archive {of_memories(planned)} into {planned.archive}?", yes)
        return await with_bar("archiving", lambda bar: memory.prune(progress=bar, **options))

    report = with_memory(work, url=url, agent=agent)
    if as_json:
        return print_json({"pruned_count": report.pruned_count, **report.model_dump(mode="json")})
    verb = "Would archive" if report.dry_run and report.memory_ids else "Archived"
    skipped = f"; {report.skipped} changed meanwhile and stayed" if report.skipped else ""
    return say(f"{verb} {of_memories(report)}{skipped}")


def restore(
    memory_ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of archived memories.", show_default=False)
    ] = None,
    where: Where = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything in the archive.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Bring memories back from the archive, exactly as they were."""
    if sum((bool(memory_ids), where is not None, everything)) != 1:
        raise InvalidInput("name memories by id, or give --where, or --all")
    condition = filter_from(where) if where else {"memory_id": memory_ids} if memory_ids else None

    async def work(memory: MemoryManager) -> RestoreReport:
        from waypost.model.retention import RestoreReport

        found = [record.memory_id for record in await memory.archive.find(condition)]
        refuse_missing(set(memory_ids or ()) - set(found))
        if dry_run or not found:
            return RestoreReport(memory_ids=tuple(found), dry_run=True)
        confirm(f"Restore {counted(len(found), 'memory', 'memories')}?", yes)
        return await with_bar("restoring", lambda bar: memory.restore(found, progress=bar))

    report = with_memory(work, url=url, agent=agent)
    if as_json:
        values = report.model_dump(mode="json")
        return print_json({"restored_count": report.restored_count, **values})
    verb = "Would restore" if report.dry_run and report.memory_ids else "Restored"
    present = f"; {report.present} were back already" if report.present else ""
    return say(f"{verb} {counted(report.restored_count, 'memory', 'memories')}{present}")


def erase(
    source: Annotated[
        str | None,
        typer.Option(help="Everything that came from this source.", show_default=False),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Everything that the agent has.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Destroy what came from a source, or all that an agent has, everywhere and for good."""
    if everything == (source is not None):
        raise InvalidInput("say what to erase: --source NAME, or --all for the whole agent")

    async def work(memory: MemoryManager) -> ErasureReport:
        planned = await memory.erase(source=source, dry_run=True)
        if dry_run or nothing_in(planned):
            return planned
        what = f"everything of agent {memory.agent_id!r}" if everything else f"source {source!r}"
        confirm(f"Erase {what} for good ({touched(planned)})?", yes)
        return await with_bar("erasing", lambda bar: memory.erase(source=source, progress=bar))

    report = with_memory(work, url=url, agent=agent)
    if as_json:
        return print_json(report)
    return print_erasure(report)


def print_erasure(report: ErasureReport) -> None:
    if nothing_in(report):
        return say("Nothing to erase")
    say(f"{'Would erase' if report.dry_run else 'Erased'} {touched(report)}")
    for name, count in report.rows.items():
        say(f"  {name:<20} {count:>9,}")
    if not report.dry_run and not report.storage_compacted:
        say("Old bytes may still lie in the database's files: see docs/retention.md")
    return None


def touched(report: ErasureReport) -> str:
    objects = report.archive_objects_deleted + report.archive_objects_rewritten
    parts = [
        counted(sum(report.rows.values()), "row", "rows"),
        counted(objects, "archived file", "archived files"),
        counted(report.summaries_rewritten, "summary", "summaries"),
        counted(report.runs_erased, "run", "runs"),
    ]
    return ", ".join(part for part in parts if not part.startswith("0 "))


def nothing_in(report: ErasureReport) -> bool:
    return not (report.rows or report.memory_ids or report.archive_objects_deleted)


def of_memories(report: PruneReport) -> str:
    return (
        f"{report.pruned_count:,} of {counted(report.considered, 'memory', 'memories')} "
        f"({report.tokens:,} tokens)"
    )


def counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def filter_from(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"--where is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInput('--where is a JSON object, such as {"kind": "note"}')
    return value


def refuse_missing(missing: set[str]) -> None:
    from waypost.exceptions import NotFound

    if missing:
        raise NotFound(f"not in the archive: {', '.join(sorted(missing)[:3])}")


def confirm(question: str, yes: bool) -> None:
    """Ask on stderr, so that stdout stays clean for ``--json``; a no ends the command."""
    if not yes:
        typer.confirm(question, abort=True, err=True)


async def with_bar(name: str, work: Callable[[Any], Awaitable[T]]) -> T:
    with progress() as bars:
        bar = bars.add_task(name, total=None)
        return await work(lambda done, total: bars.update(bar, completed=done, total=total))


def say(text: str) -> None:
    results().print(text, markup=False, soft_wrap=True)
