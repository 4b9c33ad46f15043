"""JSON-RPC over standard input and output: one request per line, one answer per line.

The process that starts the server decides which agent it speaks for, so there is
no token. Requests are answered in the order they arrive.
"""

from __future__ import annotations

import asyncio
from typing import BinaryIO

from waypost.service import messages
from waypost.service.caller import Caller, read_trace
from waypost.service.faults import parse_error
from waypost.service.limits import Limits
from waypost.service.rpc import Dispatcher


async def serve_lines(
    dispatcher: Dispatcher, caller: Caller, incoming: BinaryIO, outgoing: BinaryIO, limits: Limits
) -> None:
    """Answer lines until the input ends."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, incoming.readline, limits.body_bytes + 1):
        if len(line) > limits.body_bytes:
            await loop.run_in_executor(None, _skip_rest, incoming, line)
            answer: bytes | None = messages.failure(
                messages.NULL, parse_error("the line is too long")
            )
        elif not line.strip():
            continue
        else:
            answer = (await dispatcher.handle(line, caller, read_trace(None))).body
        if answer is not None:
            await loop.run_in_executor(None, _write, outgoing, answer)


def _skip_rest(incoming: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = incoming.readline(1 << 20)


def _write(outgoing: BinaryIO, answer: bytes) -> None:
    outgoing.write(answer + b"\n")
    outgoing.flush()
