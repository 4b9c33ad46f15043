"""The memory as tools for a model: an executor for the tools of ``tool_schemas``.

``store_in_memory``, ``retrieve_from_memory`` and ``query_memory`` work on a run's content;
``remember`` and ``recall`` on the agent's long-term memory and are offered when there is one.
Whatever a model passes, the executor answers with text: bad arguments give a message that says
what would be right, marked as an error, and never an exception.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import ValidationError

from waypost.content.material import readable_size
from waypost.content.store import ContentStore
from waypost.content.tool_schemas import (
    ALL_TOOLS,
    QueryMemory,
    RecallArguments,
    Remember,
    RetrieveFromMemory,
    StoreInMemory,
)
from waypost.exceptions import WaypostError
from waypost.model import ContentItem, Recall, Stored

# What the agent said itself and earlier lists are stored too, but would crowd a new list.
_NOT_RESULTS = ("own message", "query_memory")


class LongTermMemory(Protocol):
    """What ``remember`` and ``recall`` need; a MemoryManager is one."""

    async def add_memory(self, content: str, **details: Any) -> Stored: ...

    async def retrieve_memories(self, query: str, k: int = 5, **filters: Any) -> Recall: ...


@dataclass(frozen=True)
class ToolAnswer:
    """What the model gets. ``content_id`` is the item that was opened or stored."""

    text: str
    is_error: bool = False
    content_id: str | None = None


class ToolExecutor:
    """Runs the tools on one run's content and, when given, one agent's memory."""

    def __init__(self, store: ContentStore, memory: LongTermMemory | None = None) -> None:
        self._store = store
        self._memory = memory
        self._runners: dict[str, Callable[[Any], Awaitable[ToolAnswer]]] = {
            "store_in_memory": self._keep,
            "retrieve_from_memory": self._retrieve,
            "query_memory": self._query,
        }
        if memory is not None:
            self._runners |= {"remember": self._remember, "recall": self._recall}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._runners)

    async def run(self, name: str, arguments: str | Mapping[str, Any]) -> ToolAnswer:
        """Run one tool with the arguments a model wrote, as JSON text or as a mapping."""
        if name not in self._runners:
            return ToolAnswer(f"There is no tool {name!r}; use {', '.join(self.names)}.", True)
        try:
            checked = ALL_TOOLS[name].model_validate(_mapping(arguments))
        except ValidationError as error:
            return ToolAnswer(_explained(name, error), True)
        except ValueError as error:
            return ToolAnswer(f"{name}: {error}", True)
        try:
            return await self._runners[name](checked)
        except WaypostError as error:
            return ToolAnswer(f"{name}: {error}", True)

    async def _keep(self, wanted: StoreInMemory) -> ToolAnswer:
        item = await self._store.store(
            wanted.content, source="agent", type=wanted.type, title=wanted.title, tags=wanted.tags
        )
        return ToolAnswer(f"Stored as {item.content_id}.", content_id=item.content_id)

    async def _retrieve(self, wanted: RetrieveFromMemory) -> ToolAnswer:
        given = wanted.model_dump(exclude_none=True, exclude={"id", "transform"})
        named = any(given.get(key) for key in ("question", "regex", "path", "columns"))
        # A filter says what is meant even when the transform was left at its default.
        transform = "filtered" if named and wanted.transform == "full" else wanted.transform
        view = await self._store.retrieve(wanted.id, transform, **given)
        note = f"\n({view.note})" if view.note else ""
        return ToolAnswer((view.text + note).strip(), content_id=view.item.content_id)

    async def _query(self, wanted: QueryMemory) -> ToolAnswer:
        criteria = wanted.model_dump(exclude_none=True)
        if wanted.source is None:
            criteria["other_than"] = _NOT_RESULTS
        items = await self._store.query(**criteria)
        if not items:
            return ToolAnswer("Nothing stored matches; loosen the criteria.")
        return ToolAnswer("\n".join(_listed(item) for item in items))

    async def _remember(self, wanted: Remember) -> ToolAnswer:
        assert self._memory is not None
        details = wanted.model_dump(exclude_none=True, exclude={"content"})
        stored = await self._memory.add_memory(wanted.content, **details)
        return ToolAnswer("Known already." if stored.duplicate else "Remembered.")

    async def _recall(self, wanted: RecallArguments) -> ToolAnswer:
        assert self._memory is not None
        found = await self._memory.retrieve_memories(wanted.query, wanted.k)
        lines = [
            f"- {one.memory.content} ({one.memory.timestamp:%Y-%m-%d}, {one.memory.kind})"
            for one in found.memories
        ]
        if found.degraded:
            lines.append(f"(incomplete: {'; '.join(found.reasons)})")
        return ToolAnswer("\n".join(lines) or "Nothing is remembered about that.")


def _mapping(arguments: str | Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(arguments, str):
        return dict(arguments)
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        raise ValueError(f"the arguments are not JSON: {arguments[:100]!r}") from None
    if not isinstance(value, dict):
        raise ValueError(f"the arguments are a JSON object, not {type(value).__name__}")
    return value


def _explained(name: str, error: ValidationError) -> str:
    parts = []
    for problem in error.errors():
        place = ".".join(map(str, problem["loc"])) or "arguments"
        said = "is not an argument" if problem["type"] == "extra_forbidden" else problem["msg"]
        parts.append(f"{place}: {said}")
    model = ALL_TOOLS[name]
    required = [key for key, field in model.model_fields.items() if field.is_required()]
    optional = [key for key in model.model_fields if key not in required]
    return (
        f"{name}: {'; '.join(parts)}. It takes {', '.join(required) or 'nothing required'}"
        f"{'; optional: ' + ', '.join(optional) if optional else ''}."
    )


def _listed(item: ContentItem) -> str:
    title = f" “{item.title}”" if item.title else ""
    tags = f" #{' #'.join(item.tags)}" if item.tags else ""
    size = f"{readable_size(item.size)}, {item.token_count:,} tokens"
    return f"{item.content_id} {item.kind}{title} from {item.source or 'unknown'} ({size}){tags}"
