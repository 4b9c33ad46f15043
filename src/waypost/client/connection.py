"""A connection to a Waypost service: one call, repeated when that is safe.

What the server refuses is raised as the exception the library would raise. Calls are
repeated, with full-jitter waits: reads always; writes that carry an idempotency key;
everything else only when the server cannot have begun.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from waypost import exceptions
from waypost.exceptions import (
    Forbidden,
    InvalidInput,
    Overloaded,
    ServiceUnavailable,
    TimedOut,
    WaypostError,
)

if TYPE_CHECKING:
    import httpx2

    from waypost.client.memory import RemoteMemory

PATH = "/api/v1/jsonrpc"
ATTEMPTS = 4
FIRST_WAIT = 0.1
LONGEST_WAIT = 5.0
INVALID_PARAMS = -32602

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
        from waypost.client.memory import RemoteMemory

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
