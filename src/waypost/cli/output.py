"""Where commands print: results on stdout, everything about the work on stderr.

With ``--json`` stdout carries one JSON document and nothing else, so that a
command can stand in a pipe.
"""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


def tolerate_any_encoding() -> None:
    """Print a question mark, not a traceback, where the terminal lacks a character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def results() -> Console:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def messages() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(plain(value), ensure_ascii=False, indent=2) + "\n")


def plain(value: Any) -> Any:
    """Models become what JSON can hold; vectors are left out, being long and of no use to read."""
    if hasattr(value, "model_dump"):
        return without_vectors(value.model_dump(mode="json"))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def without_vectors(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_vectors(item) for key, item in value.items() if key != "embedding"}
    if isinstance(value, list):
        return [without_vectors(item) for item in value]
    return value


def progress() -> Progress:
    """A progress bar on stderr; it draws nothing when stderr is not a terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = messages()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
