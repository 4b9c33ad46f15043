"""Running work in a child process that ends itself with SIGKILL at a chosen call.

The child counts the function calls of all its threads from the moment the work arms it, so every
number is another place to die: while reading, writing, committing, or between them.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from typing import Any

Work = Callable[[str, threading.Event], Awaitable[None]]


def children(*preload: str) -> Any:
    """Where children come from: a process that has loaded the library once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["waypost.engine", *preload])
    return context


def run_child(context: Any, work: Work, path: str, deadly: int | None) -> int | None:
    """The number of calls that ``work`` made, None when it was killed before it ended."""
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(work, path, deadly, sender))
    child.start()
    sender.close()
    child.join()
    calls = receiver.recv() if child.exitcode == 0 else None
    receiver.close()
    return calls


def _child(work: Work, path: str, deadly: int | None, sender: Connection) -> None:
    calls = 0
    armed = threading.Event()

    def count(*_: object) -> None:
        nonlocal calls
        if armed.is_set():
            calls += 1
            if calls == deadly:
                os.kill(os.getpid(), signal.SIGKILL)

    # Before the work opens: threads inherit the hook when they start.
    threading.setprofile(count)
    sys.setprofile(count)
    asyncio.run(work(path, armed))  # type: ignore[arg-type]
    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type]
    sender.send(calls)
