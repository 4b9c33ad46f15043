"""Commands about tasks: their stages, the summaries above them, and the way down and up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from waypost.cli.options import Agent, AsJson, Url
from waypost.cli.output import print_json, results
from waypost.cli.session import with_memory

if TYPE_CHECKING:
    from waypost.memory import MemoryManager
    from waypost.model import (
        ErrorPattern,
        ErrorRecord,
        StageMemory,
        StrategicContext,
        TaskContext,
        TaskProgress,
    )

TaskId = Annotated[str, typer.Argument(help="Id of the task.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Follow tasks through their stages.", no_args_is_help=True)
    for name, command in (
        ("start", start),
        ("list", list_tasks),
        ("show", show_task),
        ("progress", progress),
        ("stage", start_stage),
        ("complete-stage", complete_stage),
        ("complete", complete),
        ("errors", errors),
        ("advise", advise),
        ("where", where),
        ("costs", costs),
    ):
        group.command(name)(command)
    app.add_typer(group, name="task")


def start(
    goal: Annotated[str, typer.Argument(help="What the task is for.")],
    task_id: Annotated[
        str | None, typer.Option("--id", help="An id of your own.", show_default=False)
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(help="What must hold; may be given several times.", show_default=False),
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="The project it belongs to.", show_default=False)
    ] = None,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Start a task; the same id and goal again return the task that is there."""
    task: TaskContext = with_memory(
        lambda memory: memory.start_task(
            goal, task_id=task_id, constraints=constraint or (), project_id=project
        ),
        url=url,
        agent=agent,
        creates=True,
    )
    if as_json:
        return print_json(task)
    return results().print(f"Started task {task.task_id}.", markup=False)


def list_tasks(
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """List tasks, the newest first."""
    tasks: list[TaskContext] = with_memory(
        lambda memory: memory.tasks.list_tasks(limit), url=url, agent=agent
    )
    if as_json:
        return print_json(tasks)
    for task in tasks:
        line = f"{task.task_id}  {task.status:<9} {task.created_at:%Y-%m-%d %H:%M}  "
        results().print(line + task.task_goal, markup=False, no_wrap=True, overflow="ellipsis")
    if not tasks:
        results().print("No tasks.")
    return None


def show_task(
    task_id: TaskId,
    depth: Annotated[
        int, typer.Option(min=1, max=3, help="1 stages, 2 summary lines, 3 memories and content.")
    ] = 3,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Show a task as a tree: stages, the lines of their summaries, memories, content items."""
    found = with_memory(lambda memory: memory.tasks.tree(task_id), url=url, agent=agent)
    if as_json:
        return print_json(found)
    from waypost.cli.task_tree import task_tree

    return results().print(task_tree(found, depth))


def progress(
    task_id: TaskId, url: Url = None, agent: Agent = None, as_json: AsJson = False
) -> None:
    """Print the brief of a task: goal, evidence, constraints, open items, next actions, hints."""
    found: TaskProgress = with_memory(
        lambda memory: memory.get_task_progress(task_id), url=url, agent=agent
    )
    return print_json(found) if as_json else results().print(found.brief, markup=False)


def start_stage(
    task_id: TaskId,
    stage_type: Annotated[
        str, typer.Argument(help="planning, execution, reflection or verification.")
    ],
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Open a stage of a task; its memories go into it from now on."""
    stage: StageMemory = with_memory(
        lambda memory: memory.start_stage(task_id, stage_type), url=url, agent=agent
    )
    if as_json:
        return print_json(stage)
    return results().print(f"The {stage.stage_type} stage {stage.stage_id} is open.", markup=False)


def complete_stage(
    task_id: TaskId,
    stage: Annotated[
        str | None, typer.Option(help="Id of the stage; by default the open one.")
    ] = None,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Complete a stage and print the summary that now stands above its memories."""
    done: StageMemory = with_memory(
        lambda memory: memory.complete_stage(task_id, stage), url=url, agent=agent
    )
    if as_json:
        return print_json(done)
    results().print(done.stage_summary, markup=False)
    return results().print(figures(done), markup=False, style="dim")


def complete(
    task_id: TaskId,
    outcome: Annotated[str | None, typer.Option(help="How it ended.", show_default=False)] = None,
    status: Annotated[str, typer.Option(help="completed, failed or abandoned.")] = "completed",
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """End a task: its open stage is completed and its summary written."""
    task: TaskContext = with_memory(
        lambda memory: memory.complete_task(task_id, outcome, status), url=url, agent=agent
    )
    if as_json:
        return print_json(task)
    results().print(f"Task {task.task_id} is {task.status}.", markup=False)
    return results().print(task.task_progress_summary, markup=False)


def errors(
    task_id: Annotated[
        str | None, typer.Argument(help="Id of the task; without it, all errors.")
    ] = None,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """List errors, oldest first, and the patterns among them."""

    async def read(memory: MemoryManager) -> tuple[list[ErrorRecord], list[ErrorPattern]]:
        patterns = await memory.detect_error_patterns(task_id, None)
        return await memory.get_error_history(task_id), patterns

    history, patterns = with_memory(read, url=url, agent=agent)
    if as_json:
        return print_json({"errors": history, "patterns": patterns})
    from waypost.errors.patterns import caution_text, error_text

    for error in history:
        state = {True: "resolved", False: "not resolved", None: "open"}[error.resolved]
        line = f"{error.recorded_at:%Y-%m-%d %H:%M}  {error.error_severity:.2f}  {state:<12} "
        results().print(line + error_text(error), markup=False)
    for pattern in patterns:
        results().print(f"Pattern, {pattern.trend}: {caution_text(pattern)}", markup=False)
    if not history:
        results().print("No errors.")
    return None


def advise(
    task_id: TaskId,
    decision: Annotated[
        str, typer.Option(help="The decision at hand: continue, pivot, verify or stop.")
    ] = "continue",
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Weigh the evidence for continuing, pivoting, verifying or stopping a task."""
    found: StrategicContext = with_memory(
        lambda memory: memory.get_strategic_context(task_id, decision), url=url, agent=agent
    )
    if as_json:
        return print_json(found)
    results().print(f"Advised: {found.advised}", markup=False, style="bold")
    for choice, items in found.evidence.items():
        results().print(f"{choice} {found.support[choice]:+.2f}", markup=False)
        for item in items:
            results().print(f"  {item.weight:+.2f}  {item.statement}", markup=False)
    return None


def where(
    memory_id: Annotated[str, typer.Argument(help="Id of a memory.")],
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Follow a memory up: its stage, its task, and every summary line that rests on it."""
    place = with_memory(lambda memory: memory.get_memory_place(memory_id), url=url, agent=agent)
    if as_json:
        return print_json(place)
    from waypost.cli.task_tree import place_lines

    for line in place_lines(place):
        results().print(line, markup=False)
    return None


def costs(
    task_id: Annotated[
        str | None, typer.Argument(help="Id of the task; without it, the whole agent.")
    ] = None,
    url: Url = None,
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Show what compression cost, against the same tokens on the reasoning model."""
    spent = with_memory(lambda memory: memory.tasks.costs(task_id), url=url, agent=agent)
    if as_json:
        return print_json(spent)
    told = f"{spent['compressions']:.0f} compressions, {spent['cost_usd']:.6f} USD"
    return results().print(
        f"{told}; on the reasoning model {spent['reasoning_cost_usd']:.6f} USD", markup=False
    )


def figures(stage: StageMemory) -> str:
    """How a summary came out, in one line."""
    tokens = f"{stage.original_tokens:,} → {stage.compressed_tokens:,} tokens"
    kept = f"{stage.compression_ratio:.1f}:1, {stage.information_retention:.1%} of the facts kept"
    note = f"; {stage.note}" if stage.note else ""
    return f"{tokens}, {kept}, by {stage.compression_model}{note}"
