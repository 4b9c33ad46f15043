"""Memories as text for a terminal: one layout for the command line and the demo.

Works without colour and on terminals without Unicode. Importing this module
loads rich, so commands import it when they have something to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from waypost.model import HistoryEntry, MemoryRecord, Recall, RecalledMemory, RouteHit, Weights

if TYPE_CHECKING:
    from waypost.store.statistics import AgentStatistics

NARROW = 70
EIGHTHS = " ▏▎▍▌▋▊▉█"
FACTORS = {
    "relevance": "cyan",
    "recency": "green",
    "frequency": "yellow",
    "stage": "magenta",
    "criticality": "red",
}
KIND_COLOURS = {
    "constraint": "red",
    "failure": "red",
    "error": "red",
    "decision": "green",
    "fact": "cyan",
    "preference": "magenta",
    "convention": "magenta",
}


def recalled(
    console: Console, recall: Recall, *, why: bool = False, weights: Weights | None = None
) -> None:
    """Print what a retrieval found, best first, and plainly when part of it could not run."""
    for reason in recall.reasons if recall.degraded else ():
        console.print(Text(f"degraded: {reason}", style="yellow"))
    if not recall.memories:
        console.print(Text("Nothing found.", style="dim"))
    for position, found in enumerate(recall, start=1):
        console.print(one_recalled(console, found, position, why=why))
    if why and recall.memories:
        console.print(score_line(weights or Weights()))


def one_recalled(
    console: Console,
    found: RecalledMemory,
    position: int,
    *,
    why: bool = False,
    with_id: bool = True,
) -> RenderableType:
    """One memory, with its reasons below when asked why."""
    row = Table.grid(padding=(0, 1))
    row.add_column(width=2, justify="right", style="bold")
    row.add_column(width=4, style="bold")
    row.add_column()
    parts: list[RenderableType] = [shortened(found.memory.content)]
    parts.append(origin_line(found.memory, with_id=with_id))
    if found.conflicts_with:
        others = ", ".join(found.conflicts_with)
        parts.append(Text(f"contradicts {others}; nothing says which one holds", style="yellow"))
    if why:
        parts += [factor_bars(console, found), routes_line(found.why.routes)]
    row.add_row(str(position), f"{found.score:.2f}", Group(*parts))
    return Padding(row, (0, 0, 1, 0))


def factor_bars(console: Console, found: RecalledMemory) -> Table:
    """A bar per factor: side by side, each below its name, or one per line where it is narrow."""
    if console.width < NARROW:
        return factor_lines(console, found)
    width = min((console.width - 8) // len(FACTORS), 17) - 1
    grid = Table.grid(padding=(0, 1, 0, 0))
    for _ in FACTORS:
        grid.add_column(width=width, no_wrap=True)
    values = {name: getattr(found.why.factors, name) for name in FACTORS}
    grid.add_row(*(Text(name, style="dim") for name in FACTORS))
    grid.add_row(
        *(
            Text.assemble((bar(value, console, width - 6), FACTORS[name]), f" {value:.2f}")
            for name, value in values.items()
        )
    )
    return grid


def factor_lines(console: Console, found: RecalledMemory) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    for name, colour in FACTORS.items():
        value = getattr(found.why.factors, name)
        grid.add_row(Text(name, style="dim"), Text(bar(value, console, 10), colour), f"{value:.2f}")
    return grid


def score_line(weights: Weights) -> Text:
    """How the factors make the score."""
    parts = (f"{getattr(weights, name) / weights.total:.0%} {name}" for name in FACTORS)
    return Text(f"score = {' + '.join(parts)}", style="dim")


def bar(value: float, console: Console, width: int) -> str:
    """``value`` of 0 to 1 as a bar of fixed width."""
    eighths = round(min(max(value, 0.0), 1.0) * width * 8)
    if not console.encoding.lower().startswith("utf"):
        return ("#" * round(eighths / 8)).ljust(width, ".")
    full, rest = divmod(eighths, 8)
    return (EIGHTHS[8] * full + (EIGHTHS[rest] if rest else "")).ljust(width)


def routes_line(routes: Sequence[RouteHit]) -> Text:
    found_by = ", ".join(f"{hit.route} #{hit.rank}" for hit in routes) or "no route of its own"
    return Text(f"found by {found_by}", style="dim")


def origin_line(memory: MemoryRecord, *, with_id: bool = True) -> Text:
    """Kind, time and id in one dim line, and what is unusual about the memory."""
    line = Text(style="dim", overflow="fold")
    line.append(memory.kind, style=KIND_COLOURS.get(memory.kind, ""))
    line.append(f" · {moment(memory.timestamp)}")
    if with_id:
        line.append(f" · {memory.memory_id}")
    if memory.is_critical:
        line.append(" · critical", style="red")
    if memory.superseded_by is not None:
        line.append(" · superseded", style="yellow")
    elif memory.valid_to is not None:
        line.append(f" · valid until {moment(memory.valid_to)}", style="yellow")
    return line


def moment(time: datetime) -> str:
    return time.strftime("%a %Y-%m-%d %H:%M")


def shortened(content: str, lines: int = 4) -> Text:
    """The first lines of a text, saying how many more there are."""
    all_lines = content.strip().splitlines()
    text = Text("\n".join(all_lines[:lines]), overflow="fold")
    if len(all_lines) > lines:
        text.append(f"\n… {len(all_lines) - lines} more lines", style="dim")
    return text


def listed(console: Console, memories: Sequence[MemoryRecord]) -> None:
    """Two lines per memory: its beginning, and what it is."""
    if not memories:
        console.print(Text("No memories.", style="dim"))
    for memory in memories:
        style = "" if memory.active else "dim"
        first = Text(memory.content.strip().splitlines()[0], style=style)
        console.print(first, no_wrap=True, overflow="ellipsis")
        console.print(origin_line(memory), soft_wrap=True)


def details(memory: MemoryRecord) -> Table:
    """Every field of one memory that says something."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    hidden = {"embedding", "facts", "links", "actions"}
    for name, value in memory.model_dump(mode="json", exclude=hidden).items():
        if value not in (None, [], {}, ""):
            table.add_row(name.replace("_", " "), as_text(value))
    for fact in memory.facts:
        table.add_row("fact", Text(fact.text))
    for link in memory.links:
        table.add_row(link.kind, link.target_id)
    for action in memory.actions:
        table.add_row("action", Text(f"{action.name} {as_text(action.arguments)}"))
    return table


def as_text(value: object) -> Text:
    if isinstance(value, list):
        return Text(", ".join(map(str, value)))
    if isinstance(value, dict):
        return Text(", ".join(f"{key}={item}" for key, item in value.items()))
    return Text(str(value))


def history_of(entries: Sequence[HistoryEntry]) -> Table:
    """One row per event, with the old value of every field it changed."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("when", "version", "what", "by"):
        table.add_column(heading, no_wrap=True)
    table.add_column("before", overflow="fold")
    for entry in entries:
        before = "\n".join(f"{name}: {as_text(value)}" for name, value in entry.before.items())
        when = entry.at.strftime("%Y-%m-%d %H:%M:%S")
        table.add_row(when, str(entry.version), entry.operation, entry.actor or "", Text(before))
    return table


def statistics(counted: AgentStatistics) -> Table:
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(style="dim")
    table.add_column(justify="right")
    table.add_row("memories", f"{counted.memories:,}")
    table.add_row("still valid", f"{counted.active:,}")
    table.add_row("tokens", f"{counted.tokens:,}")
    table.add_row("waiting for vectors", f"{counted.waiting_for_vectors:,}")
    for heading in ("by_type", "by_tier", "by_kind"):
        for name, count in getattr(counted, heading).items():
            table.add_row(f"{heading.removeprefix('by_')} {name}", f"{count:,}")
    if counted.first and counted.last:
        table.add_row("from", moment(counted.first))
        table.add_row("to", moment(counted.last))
    return table
