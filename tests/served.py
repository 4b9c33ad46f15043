"""An engine behind a real HTTP server, and clients for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

import waypost
from tests.rpc_transports import SECRET, no_figures, serving
from waypost.client import Client
from waypost.engine import Engine
from waypost.service.auth import Authenticator, make_token
from waypost.service.caller import ALL_SCOPES, Scope
from waypost.service.http import PATH, Endpoint, make_app
from waypost.service.keys import SharedSecret
from waypost.service.limits import Limits
from waypost.service.methods import build_registry
from waypost.service.metrics import Metrics
from waypost.service.rpc import Dispatcher
from waypost.service.server import Memories


@dataclass(frozen=True)
class Served:
    """A running service."""

    address: str
    engine: Engine

    def client(self, agent: str = "planner", *, scopes: frozenset[Scope] = ALL_SCOPES) -> Client:
        return Client(self.address, token=make_token(SECRET, agent, scopes=scopes))

    async def rpc(self, method: str, params: Any = None, *, agent: str = "planner") -> Any:
        """The whole answer to one call."""
        request = {"jsonrpc": "2.0", "method": method, "params": params or {}, "id": 1}
        headers = {"authorization": f"Bearer {make_token(SECRET, agent)}"}
        async with httpx2.AsyncClient(base_url=self.address, headers=headers) as http:
            return (await http.post(PATH, json=request, timeout=60)).json()


@asynccontextmanager
async def served(engine: Engine, limits: Limits | None = None) -> AsyncIterator[Served]:
    """Serve an open engine on a free port, in this event loop."""
    memories = Memories()
    memories.engine = engine
    chosen = limits or Limits()
    dispatcher = Dispatcher(build_registry(), memories.of, limits=chosen)
    endpoint = Endpoint(dispatcher, Authenticator(SharedSecret(SECRET)), chosen, Metrics())
    app = make_app(endpoint, readiness=memories.readiness, figures=no_figures)
    async with serving(app) as address:
        yield Served(address, engine)


@asynccontextmanager
async def library_or_client(which: str, path: Path) -> AsyncIterator[Any]:
    """An engine on a file, or a client of a service on that file: they are used alike."""
    async with waypost.open(path) as engine:
        if which == "library":
            yield engine
            return
        async with served(engine) as service, service.client() as client:
            yield client
