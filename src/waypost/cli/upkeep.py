"""Commands that look after the memory: doctor, reembed."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from waypost.cli.options import Agent, AsJson, Url
from waypost.cli.output import print_json, progress, results
from waypost.cli.session import refuse_missing

if TYPE_CHECKING:
    from waypost.cli.diagnosis import Finding

MARKS = {"ok": "green", "note": "cyan", "warning": "yellow", "problem": "red"}


def register(app: typer.Typer) -> None:
    app.command()(doctor)
    app.command()(reembed)


def doctor(url: Url = None, agent: Agent = None, as_json: AsJson = False) -> None:
    """Say what is configured, what is degraded, and what would fix it."""
    found = asyncio.run(diagnose(url, agent))
    if as_json:
        print_json([asdict(finding) for finding in found])
    else:
        print_findings(found)
    if any(finding.state == "problem" for finding in found):
        raise SystemExit(1)


async def diagnose(url: str | None, agent: str | None) -> list[Finding]:
    from waypost import settings
    from waypost.cli.diagnosis import findings

    given = {"url": url, "agent": agent}
    chosen = {name: value for name, value in given.items() if value is not None}
    configured = settings.load().model_copy(update=chosen)
    return [finding async for finding in findings(configured)]


def print_findings(found: list[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in found:
        text = Text(finding.text)
        if finding.fix:
            text.append(f"\n→ {finding.fix}", style="dim")
        table.add_row(Text(finding.state, style=MARKS[finding.state]), finding.part, text)
    results().print(table)


def reembed(
    embedder: Annotated[
        str, typer.Argument(help="The new embedder, written as for WAYPOST_EMBEDDER.")
    ],
    url: Url = None,
) -> None:
    """Move all memories to another embedder while they stay readable; goes on where it stopped."""
    made = asyncio.run(move(embedder, url))
    results().print(f"{made:,} vectors made; {embedder} is now in use.")
    results().print(f"Set WAYPOST_EMBEDDER={embedder} from now on.", soft_wrap=True)


async def move(address: str, url: str | None) -> int:
    from waypost import settings
    from waypost.engine import reembed as move_to

    configured = settings.load()
    refuse_missing(url or configured.url)
    key = configured.embedder_key
    options: dict[str, Any] = (
        {"api_key": key.get_secret_value()} if key and address != "local" else {}
    )
    with progress() as bars:
        bar = bars.add_task("embedding", total=None)
        return await move_to(
            url or configured.url,
            address,
            progress=lambda done, total: bars.update(bar, completed=done, total=total),
            **options,
        )
