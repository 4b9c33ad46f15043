"""JSON-RPC over HTTP: the endpoint, and what operators look at beside it.

``POST /api/v1/jsonrpc`` is a bare ASGI application inside the FastAPI one, so a
call passes through no machinery it does not need. A request is refused, in this
order, when the server is full or stopping, when the caller is not known, when
the body is of another type, too long or too slow. Then the dispatcher answers.

A call whose client has gone away is cancelled. The write it may have begun ends
in the database as a whole or not at all.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from waypost.exceptions import (
    ContentTooLarge,
    InvalidInput,
    Overloaded,
    ServiceUnavailable,
    TimedOut,
    Unauthenticated,
    WaypostError,
)
from waypost.service import faults, messages
from waypost.service.auth import Authenticator
from waypost.service.caller import Caller, Trace, read_trace
from waypost.service.limits import Gate, Limits
from waypost.service.metrics import CONTENT_TYPE, Metrics
from waypost.service.rpc import Answer, Dispatcher

PATH = "/api/v1/jsonrpc"
PATIENCE_SECONDS = 0.2
"""Calls that take longer than this are watched for a client that goes away."""

_DISCARDED_BYTES = 64 * 1024 * 1024
"""How much of a body that is too large is read and thrown away before the connection is cut."""

_STATUS: tuple[tuple[type[WaypostError], int], ...] = (
    (Unauthenticated, 401),
    (TimedOut, 408),
    (ContentTooLarge, 413),
    (InvalidInput, 415),
    (ServiceUnavailable, 503),
    (Overloaded, 429),
)
_JSON = (b"content-type", b"application/json")
_ALWAYS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


@dataclass(slots=True)
class Endpoint:
    """The ASGI application behind ``POST /api/v1/jsonrpc``."""

    dispatcher: Dispatcher
    authenticator: Authenticator
    limits: Limits
    metrics: Metrics
    draining: bool = False
    gate: Gate = field(init=False)

    def __post_init__(self) -> None:
        self.gate = Gate(self.limits.concurrency)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        trace = read_trace(headers.get(b"traceparent", b"").decode("latin-1"))
        try:
            with self.gate.enter():
                self.metrics.in_progress.inc()
                try:
                    await self._serve(headers, trace, receive, send)
                finally:
                    self.metrics.in_progress.dec()
        except WaypostError as error:
            await self._refuse(error, trace, send)
        except _ClientGone:
            self.metrics.cancelled.inc()

    async def _serve(
        self, headers: dict[bytes, bytes], trace: Trace, receive: Receive, send: Send
    ) -> None:
        if self.draining:
            raise ServiceUnavailable("the server is shutting down", retry_after=1)
        caller = await self.authenticator.authenticate(_authorization(headers))
        _check_type(headers)
        body = await self._read_body(headers, receive)
        answer = await self._dispatch(body, caller, trace, receive)
        await _send(send, *_response(answer), trace=trace)

    async def _read_body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        announced = headers.get(b"content-length", b"0")
        too_large = announced.isdigit() and int(announced) > self.limits.body_bytes
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                if not too_large:
                    return await self._collect(receive)
                await self._discard(receive)
        except TimeoutError:
            raise TimedOut("the request body did not arrive in time") from None
        raise self._too_large()

    async def _discard(self, receive: Receive) -> None:
        """Read on for a while, so that a client in mid-sentence can still hear the refusal."""
        left, more = _DISCARDED_BYTES, True
        while more and left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            more = message.get("more_body", False)

    async def _collect(self, receive: Receive) -> bytes:
        chunks, length, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _ClientGone
            chunk = message.get("body", b"")
            length += len(chunk)
            more = message.get("more_body", False)
            if length > self.limits.body_bytes:
                if more:
                    await self._discard(receive)
                raise self._too_large()
            chunks.append(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _too_large(self) -> ContentTooLarge:
        return ContentTooLarge(f"the body is larger than {self.limits.body_bytes:,} bytes")

    async def _dispatch(
        self, body: bytes, caller: Caller, trace: Trace, receive: Receive
    ) -> Answer:
        """Answer, but give up when the client does."""
        work: asyncio.Future[Answer] = asyncio.ensure_future(
            self.dispatcher.handle(body, caller, trace)
        )
        try:
            done, _ = await asyncio.wait({work}, timeout=PATIENCE_SECONDS)
            if not done:
                await _race(work, receive)
            return await work
        finally:
            work.cancel()

    async def _refuse(self, error: WaypostError, trace: Trace, send: Send) -> None:
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 400)
        self.metrics.refused.labels(str(status)).inc()
        fault = faults.from_error(error)
        extra = [*_retry_after(fault)]
        if status == 401:
            extra.append((b"www-authenticate", b'Bearer realm="waypost", error="invalid_token"'))
        if status in (408, 413):
            extra.append((b"connection", b"close"))
        await _send(send, status, messages.failure(messages.NULL, fault), extra, trace=trace)


class _ClientGone(Exception):
    """The client closed the connection; there is nobody left to answer."""


async def _race(work: asyncio.Future[Answer], receive: Receive) -> None:
    """Return when the work is done; raise when the client disconnects first."""
    watch = asyncio.ensure_future(_disconnected(receive))
    try:
        both: set[asyncio.Future[Any]] = {work, watch}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise _ClientGone
    finally:
        watch.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """Header values by lower-case name; a repeated Authorization is made unusable."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        found[name] = b"" if name == b"authorization" and name in found else value
    return found


def _authorization(headers: dict[bytes, bytes]) -> str | None:
    value = headers.get(b"authorization")
    return None if value is None else value.decode("latin-1")


def _check_type(headers: dict[bytes, bytes]) -> None:
    kind = headers.get(b"content-type", b"application/json").split(b";")[0].strip().lower()
    if kind not in (b"application/json", b"application/json-rpc", b"application/jsonrequest"):
        raise InvalidInput("send the request as application/json")
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise InvalidInput("send the body without a content encoding")


def _response(answer: Answer) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
    if answer.body is None:
        return 204, b"", []
    fault = answer.fault
    if fault is not None and fault.retry_after is not None:
        return 429, answer.body, [*_retry_after(fault)]
    return 200, answer.body, []


def _retry_after(fault: faults.Fault) -> Iterable[tuple[bytes, bytes]]:
    if fault.retry_after is not None:
        yield b"retry-after", str(max(1, math.ceil(fault.retry_after))).encode()


async def _send(
    send: Send,
    status: int,
    body: bytes,
    extra: Iterable[tuple[bytes, bytes]] = (),
    *,
    trace: Trace,
) -> None:
    headers = [*_ALWAYS, (b"x-trace-id", trace.id.encode()), *extra]
    if body:
        headers += [_JSON, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


Readiness = Callable[[], Awaitable[dict[str, str]]]
"""Gives the parts of the service with "ok" or what is wrong; only "store" is vital."""

Figures = Callable[[], Awaitable[list[Any]]]


def make_app(
    endpoint: Endpoint, *, readiness: Readiness, figures: Figures, lifespan: Any = None
) -> FastAPI:
    """The whole web application around an endpoint."""
    app = FastAPI(title="Waypost", openapi_url=None, lifespan=lifespan)
    app.router.routes.append(Route(PATH, endpoint, methods=["POST"]))

    @app.get("/healthz")
    async def healthz() -> Response:
        return Response('{"status":"ok"}', media_type="application/json")

    @app.get("/readyz")
    async def readyz() -> Response:
        parts = {"service": "draining"} if endpoint.draining else await readiness()
        status, report = ready_report(parts)
        return Response(json.dumps(report), status, media_type="application/json")

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(endpoint.metrics.render(await figures()), media_type=CONTENT_TYPE)

    @app.get("/api/v1/ping")
    async def ping(request: Request) -> Response:
        headers = _headers(request.scope)
        try:
            caller = await endpoint.authenticator.authenticate(_authorization(headers))
        except WaypostError as error:
            fault = faults.from_error(error).as_object()
            return Response(json.dumps(fault), 401, media_type="application/json")
        return Response(json.dumps({"agent": caller.agent}), media_type="application/json")

    return app


VITAL = ("store", "service")


def ready_report(parts: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """Not ready without a vital part; degraded, but ready, without another."""
    failing = {name for name, state in parts.items() if state != "ok"}
    if failing & set(VITAL):
        return 503, {"status": "unavailable", "parts": parts}
    return 200, {"status": "degraded" if failing else "ok", "parts": parts}
