"""Commands about runs: what an agent's model was shown, step by step."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from waypost.cli.options import Agent, AsJson, Url
from waypost.cli.output import print_json, results
from waypost.cli.session import with_memory

if TYPE_CHECKING:
    from waypost.content.runs import Run, RunEvent, SentPrompt
    from waypost.memory import MemoryManager

RunId = Annotated[str, typer.Argument(help="Id of the run.")]
_WIDTH = 110


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Look at runs kept for audit.", no_args_is_help=True)
    group.command("list")(list_runs)
    group.command("show")(show_run)
    group.command("replay")(replay)
    app.add_typer(group, name="run")


def list_runs(
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """List an agent's runs, the latest first."""
    runs: list[Run] = with_memory(lambda memory: memory.runs.latest(limit), url=url, agent=agent)
    if as_json:
        return print_json(runs)
    for run in runs:
        results().print(_headline(run), markup=False)
    if not runs:
        results().print("No runs.")
    return None


def show_run(
    run_id: RunId,
    step: Annotated[
        int | None, typer.Option(help="Show the messages of this step.", show_default=False)
    ] = None,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Show a run: what was stored, sent and compacted at each step; or one step's messages."""
    if step is not None:
        messages = with_memory(
            lambda memory: memory.runs.messages_at(run_id, step), url=url, agent=agent
        )
        return print_json(messages) if as_json else _print_messages(messages)

    async def read(memory: MemoryManager) -> tuple[Run, list[RunEvent]]:
        return await memory.runs.get(run_id), await memory.runs.events(run_id)

    run, events = with_memory(read, url=url, agent=agent)
    if as_json:
        return print_json({"run": run, "events": events})
    results().print(_headline(run), markup=False)
    for event in events:
        results().print(f"{event.step:>4}  {event.kind:<9} {_told(event)}", markup=False)
    return None


def replay(
    run_id: RunId,
    step: Annotated[
        int | None, typer.Option(help="Only this step; by default all.", show_default=False)
    ] = None,
    url: Url = None,
    agent: Agent = None,
) -> None:
    """Print exactly what the model was sent: one JSON message list per line, a line per step.

    In Anthropic's style, where the system text is apart, a line is an object with system and
    messages.
    """

    async def read(memory: MemoryManager) -> list[SentPrompt]:
        steps: list[int | None] = [step]
        if step is None:
            steps = [e.step for e in await memory.runs.events(run_id) if e.kind == "prompt"]
        return [await memory.runs.prompt_at(run_id, one) for one in steps]

    for sent in with_memory(read, url=url, agent=agent):
        whole = {"system": sent.system, "messages": sent.messages}
        line = json.dumps(whole if sent.system else sent.messages, ensure_ascii=False)
        sys.stdout.write(line + "\n")


def _headline(run: Run) -> str:
    ended = "ended" if run.ended_at else "not ended"
    below = f", below {run.parent_run_id}" if run.parent_run_id else ""
    size = f"{run.steps} steps, {run.tokens_sent:,} tokens sent"
    return f"{run.run_id}  {run.started_at:%Y-%m-%d %H:%M}, {size}, {ended}{below}"


def _told(event: RunEvent) -> str:
    facts = event.payload
    if event.kind == "prompt":
        told = [f"{facts['tokens']:,} tokens"]
        for what in ("shown", "compacted"):
            if facts.get(what):
                told.append(f"{what} {', '.join(facts[what])}")
        return "; ".join(told)
    if event.kind == "stored":
        what = f"{facts['content_id']} {facts['kind']} from {facts['source']}"
        return f"{what}, {facts['size']:,} bytes, {facts['tokens']:,} tokens"
    return json.dumps(facts, ensure_ascii=False)[:_WIDTH]


def _print_messages(messages: list[dict[str, Any]]) -> None:
    for message in messages:
        results().print(f"[{message['role']}]", markup=False)
        content = message.get("content")
        if content:
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            results().print(text, markup=False)
        for call in message.get("tool_calls", ()):
            function = call["function"]
            results().print(f"→ {function['name']}({function['arguments']})", markup=False)
