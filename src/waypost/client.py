"""The same memory, over the network: a client whose methods are those of the library.

    client = waypost.Client("http://127.0.0.1:7077", token=token)
    memory = client.agent("planner")

Code written against ``waypost.open`` runs against a server by changing that one
line. What the server refuses is raised as the exception the library would raise.

Calls are repeated, with full-jitter waits, when that is safe: reads always; writes
that carry an idempotency key (one is made where the caller gave none); everything
else only when the server cannot have begun. Above: users. Below: the model.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from waypost import exceptions
from waypost.exceptions import (
    Forbidden,
    InvalidInput,
    Overloaded,
    ServiceUnavailable,
    TimedOut,
    WaypostError,
)
from waypost.model import (
    HistoryEntry,
    Interaction,
    MemoryChanges,
    MemoryRecord,
    NewMemory,
    Recall,
    RecallRequest,
    Stored,
    new_id,
)
from waypost.model.context import ContextPackage, ContextRequest
from waypost.model.profile import AgentProfile
from waypost.validation import checked, checked_id

if TYPE_CHECKING:
    import httpx2

    from waypost.store.statistics import AgentStatistics

PATH = "/api/v1/jsonrpc"
ATTEMPTS = 4
FIRST_WAIT = 0.1
LONGEST_WAIT = 5.0
INVALID_PARAMS = -32602

Model = TypeVar("Model", bound=BaseModel)
Sleep = Callable[[float], Awaitable[object]]


class Client:
    """A connection to a Waypost service; in place of an engine. Close it, or use ``async with``."""

    def __init__(
        self,
        address: str,
        *,
        token: str,
        timeout: float = 60.0,
        attempts: int = ATTEMPTS,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._address = address.removesuffix("/").removesuffix(PATH)
        self._token = token
        self._timeout = timeout
        self._attempts = attempts
        self._sleep = sleep
        self._http: httpx2.AsyncClient | None = None
        self._numbers = itertools.count(1)

    def agent(self, agent_id: str | None = None) -> RemoteMemory:
        """The memory of the token's agent. A token speaks for one agent only."""
        own = agent_of(self._token)
        if agent_id is not None and agent_id != own:
            raise Forbidden(f"the token is for agent {own!r}, not for {agent_id!r}")
        return RemoteMemory(self, own)

    async def call(
        self, method: str, params: Mapping[str, Any] | None = None, *, repeatable: bool = True
    ) -> dict[str, Any]:
        """Call a method and give its result; ``repeatable`` if doing it twice does no harm."""
        for attempt in itertools.count(1):
            try:
                return await self._call_once(method, params or {})
            except WaypostError as error:
                again = error.retryable and (repeatable or _not_begun(error))
                if not again or attempt >= self._attempts:
                    raise
                await self._sleep(_wait(attempt, error))
        raise AssertionError("unreachable")

    async def _call_once(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        request = {"jsonrpc": "2.0", "method": method, "params": params, "id": number}
        body = await self._post(json.dumps(request, ensure_ascii=False).encode())
        try:
            answer = json.loads(body)
        except ValueError:
            raise ServiceUnavailable("the server's answer is not JSON", begun=True) from None
        if "error" in answer:
            raise _as_exception(answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    async def _post(self, body: bytes) -> bytes:
        import httpx2

        client = self._connected()
        try:
            response = await client.post(PATH, content=body)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise ServiceUnavailable(f"cannot reach {self._address}: {error}") from None
        except httpx2.TimeoutException:
            raise TimedOut(f"no answer within {self._timeout:g} s") from None
        except httpx2.TransportError as error:
            message = f"the connection broke: {type(error).__name__}"
            raise ServiceUnavailable(message, begun=True) from None
        return response.content

    def _connected(self) -> httpx2.AsyncClient:
        if self._http is None:
            import httpx2

            headers = {
                "authorization": f"Bearer {self._token}",
                "content-type": "application/json",
            }
            limits = httpx2.Limits(max_connections=100, max_keepalive_connections=100)
            self._http = httpx2.AsyncClient(
                base_url=self._address, headers=headers, timeout=self._timeout, limits=limits
            )
        return self._http

    async def close(self) -> None:
        """Let go of the connections. Closing twice is allowed."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def agent_of(token: str) -> str:
    """The agent that a token names. Not verified here: the server does that."""
    try:
        part = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return str(claims["sub"])
    except (IndexError, KeyError, TypeError, ValueError):
        raise InvalidInput("the token is not a JWT that names an agent") from None


def _not_begun(error: WaypostError) -> bool:
    """True when the server refused before doing anything, or was never reached."""
    if isinstance(error, TimedOut):
        return False
    return isinstance(error, Overloaded) and not error.facts.get("begun", False)


def _wait(attempt: int, error: WaypostError) -> float:
    """Full jitter below an exponential bound, but never less than the server asked for."""
    bound = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt)
    asked = float(error.facts.get("retry_after", 0.0))
    return max(asked, random.SystemRandom().uniform(0.0, bound))


def _as_exception(error: Mapping[str, Any]) -> WaypostError:
    """The exception that the library would have raised."""
    data = dict(error.get("data") or {})
    code, message = error["code"], data.get("detail") or error["message"]
    facts = {name: value for name, value in data.items() if name not in ("retryable", "kind")}
    if code == INVALID_PARAMS:
        return InvalidInput(message, **facts)
    return _class_of(code)(message, **facts)


def _class_of(code: int) -> type[WaypostError]:
    known = {
        kind.code: kind
        for kind in vars(exceptions).values()
        if isinstance(kind, type) and issubclass(kind, WaypostError)
    }
    return known.get(code, WaypostError)


class RemoteMemory:
    """The memory of one agent, on a server. The methods are those of ``MemoryManager``."""

    def __init__(self, client: Client, agent_id: str) -> None:
        self.agent_id = agent_id
        self._client = client
        self._call = client.call

    async def add_interaction(
        self, query: str | Interaction, response: str | None = None, **details: Any
    ) -> Stored:
        """Remember one exchange, with the facts in it and, when it went well, how it was done."""
        interaction = (
            query
            if isinstance(query, Interaction)
            else checked(Interaction, {"query": query, "response": response, **details})
        )
        return _stored(await self._call("memory.store", {"interaction": _keyed(interaction)}))

    async def add_memory(self, content: str | NewMemory, **details: Any) -> Stored:
        """Remember one text. ``details`` are the other fields of ``NewMemory``."""
        new = (
            content
            if isinstance(content, NewMemory)
            else checked(NewMemory, {"content": content, **details})
        )
        return _stored(await self._call("memory.store", {"memory": _keyed(new)}))

    async def add_memories(self, batch: Iterable[NewMemory | Mapping[str, Any]]) -> list[Stored]:
        """Remember many texts in one transaction: all of them, or none."""
        items = [
            item if isinstance(item, NewMemory) else checked(NewMemory, item) for item in batch
        ]
        if not items:
            return []
        params = {"memories": [_keyed(item) for item in items]}
        answer = await self._call("memory.store_many", params)
        return [_stored(each) for each in answer["stored"]]

    async def retrieve_memories(
        self,
        query: str | RecallRequest,
        k: int = 5,
        *,
        now: datetime | None = None,
        track_access: bool = True,
        **filters: Any,
    ) -> Recall:
        """Recall the memories that matter for a question, each with its reasons."""
        request = (
            query
            if isinstance(query, RecallRequest)
            else checked(RecallRequest, {"query": query, "k": k, **filters})
        )
        params = _plain(request) | {"track_access": track_access}
        if now is not None:
            params["now"] = now.isoformat()
        answer = await self._call("memory.retrieve", params)
        for found in answer["memories"]:
            _drop(found, "memory_id", "summary", "importance_score")
        return Recall.model_validate(answer)

    async def get_relevant_context(
        self,
        query: str | ContextRequest,
        task_id: str | None = None,
        max_tokens: int = 2000,
        **details: Any,
    ) -> ContextPackage:
        """The few tokens that matter now, as text to put before a model. Never over budget."""
        request = (
            query
            if isinstance(query, ContextRequest)
            else checked(ContextRequest, {"query": query, "max_tokens": max_tokens, **details})
        )
        params = _plain(request) | ({} if task_id is None else {"task_id": task_id})
        answer = await self._call("memory.get_context", params)
        return ContextPackage.model_validate(answer | {"text": answer.pop("context")})

    async def get_memory(self, memory_id: str) -> MemoryRecord:
        """One memory by its id; NotFound when this agent has none."""
        answer = await self._call("memory.get", {"memory_id": checked_id(memory_id)})
        return MemoryRecord.model_validate(answer["memory"])

    async def list_memories(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        order_by: str = "timestamp",
        limit: int = 100,
    ) -> list[MemoryRecord]:
        """Memories that match a filter, newest first; ``-`` before the field reverses."""
        params = {"where": _json(where or {}), "order_by": order_by, "limit": limit}
        answer = await self._call("memory.list", params)
        return [MemoryRecord.model_validate(each) for each in answer["memories"]]

    async def count_memories(self, where: Mapping[str, Any] | None = None) -> int:
        answer = await self._call("memory.count", {"where": _json(where or {})})
        return int(answer["count"])

    async def update_memory(
        self,
        memory_id: str,
        changes: MemoryChanges | None = None,
        *,
        expected_version: int | None = None,
        actor: str | None = None,
        **fields: Any,
    ) -> MemoryRecord:
        """Change the given fields; history keeps what they held before."""
        wanted = changes if changes is not None else checked(MemoryChanges, fields)
        params = {
            "memory_id": checked_id(memory_id),
            "updates": _plain(wanted),
            "expected_version": expected_version,
            "actor": actor,
        }
        answer = await self._call("memory.update", params, repeatable=False)
        return MemoryRecord.model_validate(answer["memory"])

    async def forget_memory(self, memory_id: str, *, actor: str | None = None) -> None:
        """Delete one memory; NotFound when this agent has none."""
        params = {"memory_id": checked_id(memory_id), "actor": actor}
        await self._call("memory.delete", params, repeatable=False)

    async def get_history(self, memory_id: str) -> list[HistoryEntry]:
        """Everything that happened to one memory, oldest first."""
        answer = await self._call("memory.history", {"memory_id": checked_id(memory_id)})
        return [HistoryEntry.model_validate(each) for each in answer["history"]]

    async def get_statistics(self) -> AgentStatistics:
        """How much this agent remembers, by type, tier and kind."""
        from waypost.store.statistics import AgentStatistics

        return AgentStatistics.model_validate(await self._call("memory.statistics"))

    async def get_profile(self) -> AgentProfile:
        """This agent's own weights, half-life and way of putting contexts together."""
        return AgentProfile.model_validate(await self._call("memory.get_profile"))

    async def set_profile(self, **parts: Any) -> AgentProfile:
        """Change parts of the profile: weights, half_life_hours, context. The others stay."""
        wanted = _plain(checked(AgentProfile, parts))
        return AgentProfile.model_validate(await self._call("memory.set_profile", wanted))


def _plain(value: BaseModel) -> dict[str, Any]:
    """What the caller set, as JSON can carry it."""
    return value.model_dump(mode="json", exclude_unset=True, by_alias=True)


def _json(value: Any) -> Any:
    """Filter values such as times, as JSON can carry them."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value)


def _keyed(value: Interaction | NewMemory) -> dict[str, Any]:
    """The value with an idempotency key, so that repeating the call stores it once."""
    return {"idempotency_key": f"client-{new_id()}"} | _plain(value)


def _stored(answer: dict[str, Any]) -> Stored:
    return Stored.model_validate(_drop(answer, "success", "memory_id"))


def _drop(answer: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        answer.pop(name, None)
    return answer
