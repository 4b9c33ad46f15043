"""The command line. Each group of commands is a module with ``register(app)``.

Modules here import only what describes their commands; everything heavy loads
when a command runs, so that ``waypost --help`` answers at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


def application() -> typer.Typer:
    """All commands, in the order in which ``--help`` shows them."""
    import typer

    from waypost.cli import (
        keeping,
        options,
        reading,
        runs,
        serve,
        tasks,
        transfer,
        upkeep,
        writing,
    )

    app = typer.Typer(
        name="waypost",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(options.whole_program)
    for group in (writing, reading, tasks, runs, transfer, keeping, upkeep, serve):
        group.register(app)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the arguments (by default the process's own) name."""
    from waypost.cli.failures import in_one_line
    from waypost.cli.output import tolerate_any_encoding

    tolerate_any_encoding()
    with in_one_line():
        application()(arguments)
