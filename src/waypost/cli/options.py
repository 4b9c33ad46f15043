"""Options that several commands share, so that they read and behave alike everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        "--db",
        help="The memory: an SQLite file or a postgresql:// URL.  [env: WAYPOST_URL]",
        show_default=False,
    ),
]
Agent = Annotated[
    str | None,
    typer.Option("--agent", help="Whose memory.  [env: WAYPOST_AGENT]", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Task = Annotated[str | None, typer.Option("--task", help="Only this task.", show_default=False)]
Project = Annotated[
    str | None, typer.Option("--project", help="Only this project.", show_default=False)
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="Only this kind; may be given several times.", show_default=False),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", help="A tag; may be given several times.", show_default=False),
]


Tier = Annotated[
    str | None, typer.Option("--tier", help="task, project or global.", show_default=False)
]
Since = Annotated[
    str | None,
    typer.Option(help="Only from this time on, as 2026-03-05T09:40Z.", show_default=False),
]
Until = Annotated[str | None, typer.Option(help="Only before this time.", show_default=False)]
Where = Annotated[
    str | None,
    typer.Option(
        help='A filter as JSON, such as \'{"importance": {"$gte": 0.5}}\'.', show_default=False
    ),
]


def print_version(wanted: bool) -> None:
    if wanted:
        from waypost import __version__

        typer.echo(f"waypost {__version__}")
        raise typer.Exit


def whole_program(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=print_version, is_eager=True),
    ] = False,
) -> None:
    """A memory for AI agents that work on long tasks."""
