"""A task as a tree for a terminal, and a memory's way up. Importing this loads rich."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text
from rich.tree import Tree

from waypost.cli.show import KIND_COLOURS
from waypost.model import LineBranch, MemoryLeaf, MemoryPlace, StageBranch, TaskTree

_LINES, _MEMORIES = 2, 3
_MOST_LEAVES = 5


def task_tree(found: TaskTree, depth: int = _MEMORIES) -> Tree:
    """Task, stages, summary lines, memories, content items, as deep as asked."""
    task = found.task
    outcome = f": {task.outcome}" if task.outcome else ""
    root = Tree(Text.assemble((task.task_goal, "bold"), (f"  {task.status}{outcome}", "dim")))
    for constraint in task.critical_constraints:
        root.add(Text.assemble(("constraint ", "red"), constraint))
    for branch in found.stages:
        _add_stage(root, branch, depth)
    return root


def _add_stage(root: Tree, branch: StageBranch, depth: int) -> None:
    node = root.add(_stage_label(branch))
    if depth < _LINES:
        return
    for line in branch.lines:
        _add_line(node, line, depth)
    _add_leaves(node, branch.open_memories)


def _stage_label(branch: StageBranch) -> Text:
    stage = branch.stage
    state = "open"
    if not stage.is_open:
        kept = f"{stage.information_retention:.0%} kept"
        state = f"{stage.original_tokens:,} → {stage.compressed_tokens:,} tokens, {kept}"
    label = Text.assemble((str(stage.stage_type), "bold cyan"))
    label.append(f"  {branch.memory_count} memories, {state}  {stage.stage_id}", style="dim")
    if stage.note:
        label.append(f"\n{stage.note}", style="yellow")
    return label


def _add_line(node: Tree, branch: LineBranch, depth: int) -> None:
    line = branch.line
    label = Text.assemble((f"{line.kind} ", KIND_COLOURS.get(line.kind, "dim")), line.text)
    if line.pinned:
        label.append("  pinned", style="red")
    below = node.add(label)
    if depth >= _MEMORIES:
        _add_leaves(below, branch.memories)
        for name in branch.missing:
            below.add(Text(f"{name} is not here; restore it from the archive", style="yellow"))


def _add_leaves(node: Tree, leaves: Sequence[MemoryLeaf]) -> None:
    for leaf in leaves[:_MOST_LEAVES]:
        first = leaf.summary.strip().splitlines()[0] if leaf.summary.strip() else ""
        label = Text.assemble((f"{leaf.kind} ", KIND_COLOURS.get(leaf.kind, "dim")), first[:100])
        label.append(f"  {leaf.memory_id}", style="dim")
        child = node.add(label)
        for content_id in leaf.content_ids:
            child.add(Text(f"content {content_id}", style="blue"))
    if len(leaves) > _MOST_LEAVES:
        node.add(Text(f"… {len(leaves) - _MOST_LEAVES} more memories", style="dim"))


def place_lines(place: MemoryPlace) -> Iterator[str]:
    """A memory's way up, one step per line."""
    yield f"memory {place.memory_id}"
    if place.stage is None:
        yield "  in no stage"
    else:
        state = "open" if place.stage.is_open else "completed"
        yield f"  in the {place.stage.stage_type} stage {place.stage.stage_id} ({state})"
        yield from (f"    line: {line.text}" for line in place.stage_lines)
    if place.task is not None:
        yield f"  of task {place.task.task_id}: {place.task.task_goal}"
        yield from (f"    line: {line.text}" for line in place.task_lines)
