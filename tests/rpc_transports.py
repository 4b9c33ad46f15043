"""One dispatcher behind three transports, so that one suite can hold all of them to account.

Each transport sends the bytes of a request and gives back the bytes of the answer,
or None when there was none.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import uvicorn

from waypost.service.auth import Authenticator, make_token
from waypost.service.caller import Caller, read_trace
from waypost.service.http import PATH, Endpoint, make_app
from waypost.service.keys import SharedSecret
from waypost.service.limits import Limits
from waypost.service.metrics import Metrics
from waypost.service.rpc import Dispatcher
from waypost.service.server import KEEP_ALIVE_SECONDS
from waypost.service.stdio import serve_lines

Send = Callable[[bytes], Awaitable[bytes | None]]
SECRET = b"a secret for tests, of 32 bytes or more"
TRANSPORTS = ("in_process", "http", "stdio")


@asynccontextmanager
async def connect(
    transport: str, dispatcher: Dispatcher, caller: Caller, limits: Limits
) -> AsyncIterator[Send]:
    opened = {"in_process": _in_process, "http": _over_http, "stdio": _over_stdio}[transport]
    async with opened(dispatcher, caller, limits) as send:
        yield send


@asynccontextmanager
async def _in_process(
    dispatcher: Dispatcher, caller: Caller, limits: Limits
) -> AsyncIterator[Send]:
    async def send(body: bytes) -> bytes | None:
        return (await dispatcher.handle(body, caller, read_trace(None))).body

    yield send


@asynccontextmanager
async def _over_http(dispatcher: Dispatcher, caller: Caller, limits: Limits) -> AsyncIterator[Send]:
    endpoint = Endpoint(dispatcher, Authenticator(SharedSecret(SECRET)), limits, Metrics())
    token = make_token(SECRET, caller.agent, scopes=caller.scopes)
    async with serving(make_app(endpoint, readiness=all_well, figures=no_figures)) as address:
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        async with httpx2.AsyncClient(base_url=address, headers=headers) as client:

            async def send(body: bytes) -> bytes | None:
                response = await client.post(PATH, content=body)
                assert response.status_code in (200, 204, 429), response.text
                assert bool(response.content) == (response.status_code != 204)
                return response.content or None

            yield send


@asynccontextmanager
async def _over_stdio(
    dispatcher: Dispatcher, caller: Caller, limits: Limits
) -> AsyncIterator[Send]:
    """Real pipes. A ping after each request tells "no answer" from "not yet"."""
    to_server, from_client = os.pipe()
    to_client, from_server = os.pipe()
    with (
        os.fdopen(to_server, "rb") as incoming,
        os.fdopen(from_server, "wb") as outgoing,
        os.fdopen(to_client, "rb") as answers,
        os.fdopen(from_client, "wb", buffering=0) as requests,
    ):
        server = asyncio.create_task(serve_lines(dispatcher, caller, incoming, outgoing, limits))

        async def send(body: bytes) -> bytes | None:
            fence = b'{"jsonrpc":"2.0","method":"no such method","id":"fence"}'
            line = body.replace(b"\n", b" ")
            await asyncio.to_thread(requests.write, line + b"\n" + fence + b"\n")
            answer = await asyncio.to_thread(answers.readline)
            if answer.endswith(b'"id":"fence"}\n'):
                return None
            assert (await asyncio.to_thread(answers.readline)).endswith(b'"id":"fence"}\n')
            return answer.rstrip(b"\n")

        yield send
        requests.close()
        await server


class _Server(uvicorn.Server):
    """Says when it accepts connections."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """Run an application on a free port of the loopback interface, in this event loop."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listening]))
    await server.ready.wait()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
        listening.close()


async def all_well() -> dict[str, str]:
    return {"store": "ok"}


async def no_figures() -> list[Any]:
    return []
