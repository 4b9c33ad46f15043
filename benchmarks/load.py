"""How much the service carries: ``python -m benchmarks.load [--seconds N] [--json]``.

Three things take the same mix of four retrievals to one store, one after the other,
from 1, 10 and 100 clients: the service, started as a user would start it; an empty
authenticated endpoint of the same server; and the library, called in process. Each
starts from the same memories. Rates are per second of wall time, errors are counted,
and the ratios compare rates at 100 clients: 0.5 means half as many.

The clients are a few lines over a socket, in a process of their own, so that what is
measured is the server. On two cores they take their share of them all the same.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CLIENTS = (1, 10, 100)
PUBLISHED = ("clients", "ratio_to_library", "ratio_to_empty")
SECRET = "a secret of the load benchmark, 32 bytes or more"
AGENT = "load"
PLACES = ("harbour", "mill", "archive", "station", "library", "market", "bridge", "workshop")
THINGS = ("invoice", "pump", "permit", "sensor", "ledger", "contract", "boiler", "shipment")
STATES = ("was repaired", "is overdue", "was approved", "failed again", "is on hold", "was moved")

Step = Callable[[str, bool], Awaitable[bool]]
"""Does one retrieval or one store of a text; False when it went wrong."""


@dataclass
class Level:
    """What one number of clients measured."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    errors: int = 0

    def summary(self) -> dict[str, float]:
        ordered = sorted(self.times) or [0.0]

        def at(share: float) -> float:
            return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)

        return {
            "per_s": round(len(self.times) / self.seconds, 1),
            "p50_ms": at(0.50),
            "p95_ms": at(0.95),
            "p99_ms": at(0.99),
            "errors": self.errors,
        }


def sentence(chance: random.Random) -> str:
    number, day = chance.randrange(10_000), chance.randrange(1, 29)
    return (
        f"The {chance.choice(THINGS)} {number} at the {chance.choice(PLACES)} "
        f"{chance.choice(STATES)} on day {day}."
    )


def question(chance: random.Random) -> str:
    return f"What about the {chance.choice(THINGS)} at the {chance.choice(PLACES)}?"


async def measure(clients: int, seconds: float, connect: Callable[[], Awaitable[Step]]) -> Level:
    """Let clients work side by side for a while, each in its own random order."""
    steps = [await connect() for _ in range(clients)]
    level = Level()
    started = time.perf_counter()
    ending = started + seconds
    await asyncio.gather(
        *(_work(step, random.Random(seed), ending, level) for seed, step in enumerate(steps))
    )
    level.seconds = time.perf_counter() - started
    return level


async def _work(step: Step, chance: random.Random, ending: float, level: Level) -> None:
    while (started := time.perf_counter()) < ending:
        store = chance.random() < 0.2
        good = await step(sentence(chance) if store else question(chance), store)
        level.times.append(time.perf_counter() - started)
        level.errors += not good


class Wire(asyncio.Protocol):
    """One keep-alive connection that has one request under way."""

    def __init__(self) -> None:
        self._buffer = b""
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result((0, b""))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        if len(body) >= length and self._waiting is not None:
            self._buffer = body[length:]
            self._waiting.set_result((int(head[9:12]), body[:length]))

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        assert self._transport is not None
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting


def http(line: str, token: str, body: bytes = b"") -> bytes:
    head = f"{line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n"
    return (
        f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        + body
    )


def service_step(wire: Wire, token: str) -> Step:
    async def step(text: str, store: bool) -> bool:
        method = "memory.store" if store else "memory.retrieve"
        params: Any = {"interaction": {"query": text}} if store else {"query": text, "k": 5}
        request = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        body = json.dumps(request).encode()
        status, answer = await wire.ask(http("POST /api/v1/jsonrpc", token, body))
        return status == 200 and answer.startswith(b'{"jsonrpc":"2.0","result"')

    return step


def empty_step(wire: Wire, token: str) -> Step:
    request = http("GET /api/v1/ping", token)

    async def step(text: str, store: bool) -> bool:
        return (await wire.ask(request))[0] == 200

    return step


def library_step(memory: Any) -> Step:
    async def step(text: str, store: bool) -> bool:
        if store:
            return bool(await memory.add_interaction(text))
        return not (await memory.retrieve_memories(text, 5)).degraded

    return step


async def fill(path: Path, count: int) -> None:
    """Put the same memories into a file."""
    import waypost

    chance = random.Random(0)
    async with waypost.open(path) as engine:
        memory = engine.agent(AGENT)
        await memory.add_memories({"content": sentence(chance)} for _ in range(count))


async def measure_service(
    port: int, token: str, seconds: float, make: Callable[[Wire, str], Step]
) -> dict[str, dict[str, float]]:
    loop = asyncio.get_running_loop()

    async def connect() -> Step:
        _, wire = await loop.create_connection(Wire, "127.0.0.1", port)
        return make(wire, token)

    await measure(4, min(2.0, seconds), connect)
    return {str(n): (await measure(n, seconds, connect)).summary() for n in CLIENTS}


async def measure_library(path: Path, seconds: float) -> dict[str, dict[str, float]]:
    import waypost

    async with waypost.open(path) as engine:
        memory = engine.agent(AGENT)

        async def connect() -> Step:
            return library_step(memory)

        await measure(4, min(2.0, seconds), connect)
        return {str(n): (await measure(n, seconds, connect)).summary() for n in CLIENTS}


def start_server(path: Path, workers: int) -> tuple[subprocess.Popen[str], int]:
    """Start ``waypost serve`` as a process of its own; its port is in what it prints."""
    command = [sys.executable, "-c", "from waypost.cli import main; main()", "serve"]
    command += ["--url", str(path), "--port", "0", "--workers", str(workers)]
    environment = os.environ | {"WAYPOST_TOKEN_SECRET": SECRET}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("listening on "):
            return process, int(line.rsplit(":", 1)[1].split("/")[0])
    raise SystemExit("the server did not start")


async def compare(seconds: float, memories: int, workers: int) -> dict[str, Any]:
    from waypost.service.auth import make_token

    token = make_token(SECRET.encode(), AGENT)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "service.db", Path(folder) / "library.db"
        await fill(ours, memories)
        await fill(theirs, memories)
        process, port = start_server(ours, workers)
        try:
            empty = await measure_service(port, token, seconds, empty_step)
            service = await measure_service(port, token, seconds, service_step)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        library = await measure_library(theirs, seconds)
    return report(service, library, empty) | {"memories": memories, "workers": workers}


def report(
    service: dict[str, Any], library: dict[str, Any], empty: dict[str, Any]
) -> dict[str, Any]:
    most = str(CLIENTS[-1])

    def ratio(other: dict[str, Any]) -> float:
        return round(service[most]["per_s"] / max(other[most]["per_s"], 0.1), 3)

    return {
        "clients": service,
        "ratio_to_library": ratio(library),
        "ratio_to_empty": ratio(empty),
        "library": library,
        "empty": empty,
    }


def show(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("what", "clients", "per s", "p50 ms", "p95 ms", "p99 ms", "errors")
    for name, key in (("service", "clients"), ("library", "library"), ("empty endpoint", "empty")):
        for clients, level in result[key].items():
            table.add_row(name, clients, *(str(value) for value in level.values()))
    console = Console()
    console.print(table)
    console.print(
        f"at 100 clients: {result['ratio_to_library']} of the library, "
        f"{result['ratio_to_empty']} of the empty endpoint"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="per number of clients")
    parser.add_argument("--memories", type=int, default=2000, help="stored before it starts")
    parser.add_argument("--workers", type=int, default=1, help="processes of the service")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    options = parser.parse_args()
    result = asyncio.run(compare(options.seconds, options.memories, options.workers))
    show(result)
    if options.json:
        print(json.dumps({name: result[name] for name in PUBLISHED}))


if __name__ == "__main__":
    main()
