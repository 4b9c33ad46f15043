"""What is compressed: texts with an id, and how each is to be read.

A source is *bulk* when it is output the agent received rather than something said (a tool result,
a page, a file): its statements bind nobody and its details count little unless they are used
elsewhere. It is *personal* when a person speaks in it, so that plain assertions count too. It is
*pinned* when nothing of it may be lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from waypost.model import MemoryRecord, Origin, SummaryLine
from waypost.model.vocabulary import INTERACTION, MESSAGE, TOOL_OUTPUT

_LASTING = frozenset(("decision", "outcome", "resolution", "question"))
_BULK_ORIGINS = frozenset((Origin.TOOL, Origin.DOCUMENT))


@dataclass(frozen=True, slots=True)
class Source:
    """One text to compress. ``commands`` are the actions taken in it, one line each.

    Bulk sources with the same ``group`` count as one result.
    """

    source_id: str
    text: str
    commands: tuple[str, ...] = ()
    bulk: bool = False
    personal: bool = False
    pinned: bool = False
    group: str = ""


class _Acted(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> dict[str, Any]: ...


def from_memories(memories: Iterable[MemoryRecord]) -> list[Source]:
    """Read memories as sources, in the order given."""
    return [from_memory(memory) for memory in memories]


def from_memory(memory: MemoryRecord) -> Source:
    bulk = memory.kind == TOOL_OUTPUT or memory.origin in _BULK_ORIGINS
    spoken = memory.origin in (Origin.USER, Origin.IMPORT)
    return Source(
        source_id=memory.memory_id,
        text=memory.content,
        commands=tuple(map(command_line, memory.actions)),
        bulk=bulk,
        personal=spoken and memory.kind in (MESSAGE, INTERACTION),
        pinned=memory.is_critical,
    )


def from_text(text: str, source_id: str = "text") -> Source:
    """Read a bare text as something a person said."""
    return Source(source_id, text, personal=True)


def from_summary(
    lines: Sequence[SummaryLine],
    group: str,
    *,
    latest: bool = True,
    is_told: Callable[[str], bool] = lambda _: False,
) -> list[Source]:
    """Read the lines of a stage's summary as sources, named by group and position.

    What the rest of the task rests on stands by itself: decisions, outcomes, resolutions, open
    questions, what a person demanded, and errors that nothing followed (those of the ``latest``
    stage after its last outcome or resolution). The other lines, and those for which ``is_told``
    (the task's goal says them already), are the stage's details: they remain where they are, one
    step down, so above it they count like the details of one result.
    """
    answered = _last_answer(lines) if latest else len(lines)
    return [
        Source(
            f"{group}:{position}",
            line.text,
            bulk=not line.pinned
            and (not _stands_alone(line, unanswered=position > answered) or is_told(line.text)),
            personal=line.personal,
            pinned=line.pinned,
            group=group,
        )
        for position, line in enumerate(lines)
    ]


def _last_answer(lines: Sequence[SummaryLine]) -> int:
    answers = [place for place, line in enumerate(lines) if line.kind in ("outcome", "resolution")]
    return answers[-1] if answers else -1


def _stands_alone(line: SummaryLine, *, unanswered: bool) -> bool:
    if line.kind == "constraint":
        return line.personal
    return line.kind in _LASTING or (unanswered and line.kind == "error")


def command_line(action: _Acted) -> str:
    """Write an action as one line: its name, then its arguments as they are."""
    arguments = " ".join(f"{key}={_plain(value)}" for key, value in action.arguments.items())
    return f"{action.name} {arguments}".strip()


def _plain(value: Any) -> str:
    """A value without the quotes and braces that JSON needs and a reader does not."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "(" + ", ".join(f"{key} {_plain(item)}" for key, item in value.items()) + ")"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return json.dumps(value, ensure_ascii=False, default=str)
