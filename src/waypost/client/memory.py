"""The memory of one agent on a server: which method of the library is which call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from waypost.client.connection import Client
from waypost.client.content import RemoteContent
from waypost.client.jobs import RemoteJobs
from waypost.client.operation import Operation, plain, remote
from waypost.errors.tracker import NewError
from waypost.memory import MemoryManager
from waypost.model import Interaction, MemoryChanges, NewMemory, RecallRequest, new_id
from waypost.model.base import Value
from waypost.model.context import ContextEntry, ContextRequest
from waypost.model.profile import AgentProfile
from waypost.twins import methods_of
from waypost.validation import checked


def _keyed(value: Interaction | NewMemory) -> dict[str, Any]:
    """The value with an idempotency key, so that repeating the call stores it once."""
    return {"idempotency_key": f"client-{new_id()}"} | plain(value)


def _interaction(
    query: str | Interaction, response: str | None = None, **details: Any
) -> dict[str, Any]:
    given = {"query": query, "response": response, **details}
    return {"interaction": _keyed(_made(Interaction, query, given))}


def _memory(content: str | NewMemory, **details: Any) -> dict[str, Any]:
    return {"memory": _keyed(_made(NewMemory, content, {"content": content, **details}))}


def _memories(batch: Iterable[NewMemory | Mapping[str, Any]]) -> dict[str, Any]:
    items = (item if isinstance(item, NewMemory) else checked(NewMemory, item) for item in batch)
    return {"memories": [_keyed(item) for item in items]}


def _recall(
    query: str | RecallRequest,
    k: int = 5,
    *,
    now: datetime | None = None,
    track_access: bool = True,
    **filters: Any,
) -> dict[str, Any]:
    request = _made(RecallRequest, query, {"query": query, "k": k, **filters})
    return plain(request) | {"now": now, "track_access": track_access}


def _context(
    query: str | ContextRequest, task_id: str | None = None, max_tokens: int = 2000, **details: Any
) -> dict[str, Any]:
    request = _made(ContextRequest, query, {"query": query, "max_tokens": max_tokens, **details})
    return plain(request) | {"task_id": task_id}


def _use(items: Iterable[ContextEntry | Mapping[str, Any]], used: Iterable[str]) -> dict[str, Any]:
    entries = (
        item if isinstance(item, ContextEntry) else checked(ContextEntry, item) for item in items
    )
    return {"items": [plain(entry) for entry in entries], "used": list(used)}


def _update(
    memory_id: str,
    changes: MemoryChanges | None = None,
    *,
    expected_version: int | None = None,
    actor: str | None = None,
    **fields: Any,
) -> dict[str, Any]:
    wanted = changes if changes is not None else checked(MemoryChanges, fields)
    return {
        "memory_id": memory_id,
        "updates": plain(wanted),
        "expected_version": expected_version,
        "actor": actor,
    }


def _profile(**parts: Any) -> dict[str, Any]:
    return plain(checked(AgentProfile, parts))


def _restore(memory_ids: Sequence[str] | str | None = None, **options: Any) -> dict[str, Any]:
    ids = [memory_ids] if isinstance(memory_ids, str) else memory_ids
    everything = ids is None and options.get("where") is None
    return {"memory_ids": ids, "all": everything, **options}


def _erase(*, source: str | None = None, **options: Any) -> dict[str, Any]:
    return options | ({"everything": True} if source is None else {"source": source})


def _error(
    error_type: str | NewError, error_description: str | None = None, **details: Any
) -> dict[str, Any]:
    given = {"error_type": error_type, "error_description": error_description, **details}
    return {"error": plain(_made(NewError, error_type, given))}


def _made(model: type[Value], first: Any, given: Mapping[str, Any]) -> Any:
    """The first argument when it is a value already, else the value made of all of them."""
    return first if isinstance(first, model) else checked(model, given)


_LIBRARY = methods_of(MemoryManager)


class RemoteMemory:
    """The memory of one agent, on a server. The methods are those of ``MemoryManager``."""

    def __init__(self, client: Client, agent_id: str) -> None:
        self.agent_id = agent_id
        self._client = client
        self._common: Mapping[str, Any] = {}

    def content(self, run_id: str | None = None) -> RemoteContent:
        """Full results of a run, kept beside the conversation; without a run, all, to read."""
        return RemoteContent(self._client, run_id)

    @property
    def jobs(self) -> RemoteJobs:
        """Background jobs: ask for pruning, erasing or a stage's summary, and look after them."""
        return RemoteJobs(self._client)

    add_interaction = remote(
        _LIBRARY.add_interaction, Operation("memory.store", params=_interaction)
    )
    add_memory = remote(_LIBRARY.add_memory, Operation("memory.store", params=_memory))
    add_memories = remote(
        _LIBRARY.add_memories, Operation("memory.store_many", "stored", _memories)
    )
    retrieve_memories = remote(
        _LIBRARY.retrieve_memories, Operation("memory.retrieve", params=_recall)
    )
    get_relevant_context = remote(
        _LIBRARY.get_relevant_context,
        Operation("memory.get_context", params=_context, renamed={"context": "text"}),
    )
    report_context_use = remote(
        _LIBRARY.report_context_use,
        Operation("memory.report_context_use", params=_use, repeatable=False),
    )
    get_tier_split = remote(_LIBRARY.get_tier_split, Operation("memory.get_tier_split"))
    get_memory = remote(_LIBRARY.get_memory, Operation("memory.get", "memory"))
    list_memories = remote(_LIBRARY.list_memories, Operation("memory.list", "memories"))
    count_memories = remote(_LIBRARY.count_memories, Operation("memory.count", "count"))
    update_memory = remote(
        _LIBRARY.update_memory,
        Operation("memory.update", "memory", _update, repeatable=False),
    )
    forget_memory = remote(
        _LIBRARY.forget_memory, Operation("memory.delete", "nothing", repeatable=False)
    )
    get_history = remote(_LIBRARY.get_history, Operation("memory.history", "history"))
    get_statistics = remote(_LIBRARY.get_statistics, Operation("memory.statistics"))
    get_working_memory = remote(
        _LIBRARY.get_working_memory, Operation("memory.get_working_memory", "entries")
    )
    get_profile = remote(_LIBRARY.get_profile, Operation("memory.get_profile"))
    set_profile = remote(_LIBRARY.set_profile, Operation("memory.set_profile", params=_profile))
    promote = remote(_LIBRARY.promote, Operation("memory.promote", repeatable=False))
    undo_promotion = remote(
        _LIBRARY.undo_promotion,
        Operation("memory.undo_promotion", "nothing", repeatable=False),
    )
    prune = remote(_LIBRARY.prune, Operation("memory.prune", repeatable=False))
    restore = remote(_LIBRARY.restore, Operation("memory.restore", params=_restore))
    erase = remote(_LIBRARY.erase, Operation("memory.erase", params=_erase))

    start_task = remote(
        _LIBRARY.start_task, Operation("memory.start_task", "task", repeatable=False)
    )
    start_stage = remote(
        _LIBRARY.start_stage, Operation("memory.start_stage", "stage", repeatable=False)
    )
    complete_stage = remote(_LIBRARY.complete_stage, Operation("memory.complete_stage"))
    complete_task = remote(_LIBRARY.complete_task, Operation("memory.complete_task", "task"))
    get_task_progress = remote(_LIBRARY.get_task_progress, Operation("memory.get_task_progress"))
    get_stage_context = remote(_LIBRARY.get_stage_context, Operation("memory.get_stage_context"))
    expand_line = remote(_LIBRARY.expand_line, Operation("memory.expand_line"))
    get_memory_place = remote(_LIBRARY.get_memory_place, Operation("memory.get_memory_place"))

    record_error = remote(
        _LIBRARY.record_error,
        Operation("memory.record_error", "error", _error, repeatable=False),
    )
    resolve_error = remote(_LIBRARY.resolve_error, Operation("memory.resolve_error", "error"))
    get_error_history = remote(
        _LIBRARY.get_error_history, Operation("memory.get_error_history", "errors")
    )
    detect_error_patterns = remote(
        _LIBRARY.detect_error_patterns,
        Operation("memory.detect_error_patterns", "error_patterns"),
    )
    get_strategic_context = remote(
        _LIBRARY.get_strategic_context, Operation("memory.get_strategic_context")
    )
    record_intervention_outcome = remote(
        _LIBRARY.record_intervention_outcome,
        Operation("memory.record_intervention_outcome", "intervention", repeatable=False),
    )
