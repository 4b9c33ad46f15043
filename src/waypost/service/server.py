"""Running the service: one process or several, from start to a clean end.

Each worker process opens its own engine on the same database; what they share,
they share through the database. On a signal a worker stops accepting, finishes
what runs, closes the engine and ends, so no acknowledged write is ever lost, and
none that was lost had been acknowledged.
"""

from __future__ import annotations

import functools
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing import parent_process
from typing import Any

import uvicorn
from fastapi import FastAPI
from prometheus_client import disable_created_metrics

from waypost.engine import Engine
from waypost.exceptions import InvalidInput, StorageError
from waypost.memory import MemoryManager
from waypost.service.caller import ALL_SCOPES, Caller
from waypost.service.config import ServiceConfig
from waypost.service.figures import DataFigures
from waypost.service.http import Endpoint, make_app
from waypost.service.logs import LoggingObserver, QuietHandler, make_log
from waypost.service.methods import build_registry
from waypost.service.metrics import CountingObserver, Metrics
from waypost.service.observe import Observer, Observers
from waypost.service.rpc import Dispatcher
from waypost.service.stdio import serve_lines
from waypost.store import vectors

REMEMBERED_AGENTS = 1000
KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep idle connections, or one would close just as it is used again."""

START_SECONDS = 120
"""A worker that has not answered for this long is replaced; a slow start is no reason to."""


class Memories:
    """The memories of the agents that call, over one engine that opens with the server."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self._managers: OrderedDict[str, MemoryManager] = OrderedDict()

    def of(self, caller: Caller) -> MemoryManager:
        manager = self._managers.get(caller.agent)
        if manager is None:
            assert self.engine is not None
            manager = self._managers[caller.agent] = self.engine.agent(caller.agent)
            if len(self._managers) > REMEMBERED_AGENTS:
                self._managers.popitem(last=False)
        return manager

    async def readiness(self) -> dict[str, str]:
        """The parts of the service, each "ok" or what is wrong with it."""
        assert self.engine is not None
        try:
            waiting, _, failure = await self.engine.database.read(vectors.queue_state)
        except StorageError as error:
            return {"store": f"unavailable ({type(error).__name__})"}
        embedder = "ok" if failure is None else f"degraded: {waiting} memories wait for a vector"
        return {"store": "ok", "embedder": embedder}


def create_app(config: ServiceConfig) -> FastAPI:
    """The application of one worker process; its engine opens and closes with it."""
    disable_created_metrics()  # type: ignore[no-untyped-call]
    metrics, memories = Metrics(), Memories()
    dispatcher = Dispatcher(
        build_registry(), memories.of, limits=config.limits, observer=_observer(config, metrics)
    )
    endpoint = Endpoint(dispatcher, config.authenticator(), config.limits, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        _end_with_parent()
        async with _opening(config) as engine:
            memories.engine = engine
            engine.on_cache_lookup = metrics.count_lookup
            figures.append(DataFigures(engine.database))
            yield
            endpoint.draining = True

    figures: list[DataFigures] = []

    async def read_figures() -> list[Any]:
        return await figures[0].read()

    return make_app(endpoint, readiness=memories.readiness, figures=read_figures, lifespan=lifespan)


def _end_with_parent() -> None:
    """In a worker: stop, as on a signal, when the process that started it is gone."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="waypost-parent", daemon=True).start()


def _opening(config: ServiceConfig) -> Any:
    from waypost import settings

    return settings.opening(settings.load(), url=config.url)


def _observer(config: ServiceConfig, metrics: Metrics) -> Observer:
    log = make_log(plain=config.plain_logs)
    logging.basicConfig(handlers=[QuietHandler(log)], level=logging.WARNING, force=True)
    logging.getLogger("uvicorn.error").setLevel(logging.INFO)
    observers: list[Observer] = [LoggingObserver(log), CountingObserver(metrics)]
    if config.traces:
        from waypost.service.tracing import export_spans

        observers.append(export_spans())
    return Observers(*observers)


def listen(config: ServiceConfig) -> socket.socket:
    """Take the address, so that its port is known before the first worker starts."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        return socket.create_server((config.host, config.port), family=family, backlog=2048)
    except OSError as error:
        place = f"{config.host}:{config.port}"
        raise InvalidInput(f"cannot listen on {place}: {error.strerror or error}") from None


def run(config: ServiceConfig, listening: socket.socket) -> None:
    """Serve until a signal comes. Returns when everything has been finished and closed."""
    uvicorn_config = uvicorn.Config(
        functools.partial(create_app, config),
        factory=True,
        workers=config.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        http="httptools",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_worker_healthcheck=START_SECONDS,
        timeout_graceful_shutdown=int(config.limits.shutdown_seconds) or 1,
    )
    if config.workers == 1:
        uvicorn.Server(uvicorn_config).run(sockets=[listening])
        return
    from uvicorn.supervisors import Multiprocess

    with tempfile.TemporaryDirectory(prefix="waypost-metrics-") as directory:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = directory
        listening.set_inheritable(True)
        Multiprocess(uvicorn_config, [listening]).run()


async def run_stdio(config: ServiceConfig, agent: str) -> None:
    """Serve one agent over standard input and output until the input ends."""
    memories = Memories()
    log = make_log(plain=config.plain_logs)
    dispatcher = Dispatcher(
        build_registry(), memories.of, limits=config.limits, observer=LoggingObserver(log)
    )
    async with _opening(config) as engine:
        memories.engine = engine
        caller = Caller(agent, ALL_SCOPES)
        incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
        await serve_lines(dispatcher, caller, incoming, outgoing, config.limits)
