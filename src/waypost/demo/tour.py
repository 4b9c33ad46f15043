"""What the tour shows, step by step."""

from __future__ import annotations

import time
from datetime import datetime
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from waypost.cli.show import bar, one_recalled, score_line
from waypost.demo.story import CONSTRAINTS, GOAL, STAGES, TASK, events
from waypost.memory import MemoryManager
from waypost.model import MemoryRecord, Recall, StageMemory, SummaryLine, Weights
from waypost.tokens import count_tokens

QUESTIONS = (
    "How long may payments be down during the cutover?",
    "Why did the first load fail?",
    "What was the problem with the rounding of amounts?",
)
HALF_LIFE_HOURS = 72.0
LAST_DAY = list(STAGES)[-1]
NEXT_STEP = "Write the checklist for switching the old server off."
CONTEXT_TOKENS = 700


class Tour:
    """One run of the tour on one agent's empty memory."""

    def __init__(self, console: Console, memory: MemoryManager) -> None:
        self._console = console
        self._memory = memory
        self._history_tokens = 0
        self._stages: dict[str, StageMemory] = {}

    async def run(self) -> None:
        self._title()
        await self._play(events())
        for question in QUESTIONS:
            await self._ask(question)
        self._console.print(score_line(Weights()))
        self._console.print(
            f"[dim]recency halves every {HALF_LIFE_HOURS:.0f} hours here; weights and half-life "
            "are yours to set[/dim]"
        )
        await self._correct()
        await self._summarise()
        await self._assemble()
        self._where_next()

    def _title(self) -> None:
        text = (
            "An agent moves a shop's payments to another database and another card gateway.\n"
            "It takes five days. Here is what its memory keeps, and what it gives back.\n"
            "[dim]No key, no server, no download: one file in a temporary folder.[/dim]"
        )
        self._console.print(Panel(text, title="[bold]Waypost[/bold]", border_style="cyan"))

    async def _play(self, story: list[dict[str, Any]]) -> None:
        self._step("Five days, as they happened")
        started = time.perf_counter()
        await self._memory.start_task(GOAL, task_id=TASK, constraints=CONSTRAINTS)
        for day, happened in groupby(story, key=lambda event: event["timestamp"].date()):
            await self._play_day(day.strftime("%A"), list(happened))
        seconds = time.perf_counter() - started
        self._history_tokens = sum(count_tokens(_text(event)) for event in story)
        self._console.print(
            f"\n{len(story)} events, {self._history_tokens:,} tokens, each durable on disk when "
            f"its call returned: {seconds:.1f} s in all."
        )

    async def _play_day(self, name: str, happened: list[dict[str, Any]]) -> None:
        await self._memory.start_stage(TASK, STAGES[name])
        for event in happened:
            if "query" in event:
                await self._memory.add_interaction(**event)
            else:
                await self._memory.add_memory(**event)
        if name != LAST_DAY:
            self._stages[name] = await self._memory.complete_stage(TASK)
        status = str(happened[-1]["content"]).partition(": ")[2]
        row = Table.grid(padding=(0, 2, 0, 0))
        row.add_column(width=9, style="bold")
        row.add_column(width=9, justify="right")
        row.add_column(style="dim")
        row.add_row(name, f"{len(happened)} events", status)
        self._console.print(row)

    async def _ask(self, question: str) -> None:
        recall = await self._memory.retrieve_memories(
            question, k=3, half_life_hours=HALF_LIFE_HOURS
        )
        self._step(f"“{question}”")
        for position, found in enumerate(recall, start=1):
            line = one_recalled(self._console, found, position, why=True, with_id=False)
            self._console.print(line)
        self._console.print(self._tokens_used(recall))

    def _tokens_used(self, recall: Recall) -> Text:
        used = sum(found.memory.token_count for found in recall)
        part = used / self._history_tokens
        return Text.assemble(
            "tokens  ",
            (bar(part, self._console, 40), "cyan"),
            f" {used:,} of {self._history_tokens:,}: {part:.1%} of the whole history",
        )

    async def _correct(self) -> None:
        self._step("A fact that changed: when is the cutover?")
        new = await self._cutover_time()
        (old,) = await self._memory.list_memories({"superseded_by": new.memory_id})
        timeline = Table.grid(padding=(0, 2, 0, 0))
        timeline.add_row("[dim]said on[/dim]", "[dim]what[/dim]", "[dim]holds[/dim]")
        timeline.add_row(
            _day(old.timestamp), f"[strike]{old.content}[/strike]",
            f"[yellow]until {_day(new.timestamp)}, then superseded[/yellow]",
        )  # fmt: skip
        timeline.add_row(_day(new.timestamp), new.content, "[green]now[/green]")
        self._console.print(timeline)
        await self._ask_as_of(old.timestamp, new.timestamp)
        await self._show_history(old.memory_id)

    async def _ask_as_of(self, before: datetime, after: datetime) -> None:
        self._console.print("\nNothing was deleted, so the memory can also say what it knew then:")
        for label, moment in (("asked on", before), ("asked on", after), ("asked", None)):
            answer = await self._cutover_time(as_of=moment)
            when = f"{label} {_day(moment)}" if moment else "asked now"
            self._console.print(f"  {when:<25} → {answer.content}")

    async def _cutover_time(self, as_of: datetime | None = None) -> MemoryRecord:
        answers = await self._memory.retrieve_memories(
            "What time is the cutover?",
            k=1,
            kinds=("fact",),
            half_life_hours=HALF_LIFE_HOURS,
            as_of=as_of,
        )
        return answers[0].memory

    async def _show_history(self, memory_id: str) -> None:
        self._console.print("\nIts history:")
        for entry in await self._memory.get_history(memory_id):
            changed = ", ".join(entry.before) or "as first stored"
            self._console.print(f"  version {entry.version}  {entry.operation:<10} {changed}")

    async def _summarise(self) -> None:
        self._step("What a finished day becomes: a shorter view above it, never instead of it")
        table = Table.grid(padding=(0, 3, 0, 0))
        for name, stage in self._stages.items():
            table.add_row(
                f"[bold]{name}[/bold]",
                str(stage.stage_type),
                f"{stage.original_tokens:,} → {stage.compressed_tokens:,} tokens",
                f"{stage.compression_ratio:.1f} to 1",
                f"{stage.information_retention:.0%} of the facts kept, critical ones all",
            )
        self._console.print(table)
        await self._follow(self._decision_line())

    def _decision_line(self) -> SummaryLine:
        """A line of Tuesday's summary that is worth following: its longest pinned one."""
        lines = self._stages["Tuesday"].summary_lines
        return max(lines, key=lambda line: (line.pinned, len(line.text)))

    async def _follow(self, line: SummaryLine) -> None:
        self._console.print("\nEvery line names what it rests on. One of Tuesday's:")
        self._console.print(Padding(Text(line.text, style="cyan"), (0, 0, 0, 2)))
        for memory_id in line.source_ids:
            source = await self._memory.get_memory(memory_id)
            origin = f"from a {source.kind} of {_day(source.timestamp)}, kept word for word"
            self._console.print(
                Padding(f"[dim]{origin}, {source.token_count} tokens[/dim]", (0, 2))
            )

    async def _assemble(self) -> None:
        package = await self._memory.get_relevant_context(
            NEXT_STEP, task_id=TASK, max_tokens=CONTEXT_TOKENS
        )
        self._step(f"The next step: “{NEXT_STEP}”")
        self._console.print("What the agent is given to read before it, within its budget:\n")
        self._console.print(Panel(Text(package.text), border_style="dim"))
        self._console.print(
            f"{package.token_count} tokens of at most {CONTEXT_TOKENS}; the whole history has "
            f"{self._history_tokens:,}."
        )

    def _where_next(self) -> None:
        self._step("Where to go next")
        places = Table.grid(padding=(0, 3, 0, 0))
        for command, what in (
            (".venv/bin/waypost --help", "the same from the command line"),
            (".venv/bin/waypost remember …", "start a memory of your own"),
            ("README.md", "the library in ten lines, and the figures"),
            ("tests/fundamentals", "the tutorial, top to bottom, as tests"),
            ("docs/architecture.md", "how it works"),
            ("make test", "every test, against real databases"),
        ):
            places.add_row(f"[bold]{command}[/bold]", what)
        self._console.print(Padding(places, (0, 0, 1, 0)))

    def _step(self, title: str) -> None:
        self._console.print()
        self._console.print(Rule(f"[bold]{title}[/bold]", align="left", style="cyan"))


def _text(event: dict[str, Any]) -> str:
    parts = (event.get("content"), event.get("query"), event.get("response"), event.get("outcome"))
    return "\n".join(part for part in parts if part)


def _day(moment: datetime) -> str:
    return moment.strftime("%A %H:%M")
