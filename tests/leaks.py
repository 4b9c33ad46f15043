"""Noticing what a test leaves behind: threads and open files."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def open_files() -> list[str]:
    """What the process has open, apart from what the interpreter itself keeps."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            found.append(os.readlink(link))
        except FileNotFoundError:
            continue
    return sorted(name for name in found if not name.startswith(("/dev/", "/proc/", "anon_inode")))


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Fail when the block leaves a thread or an open file; both are named."""
    gc.collect()
    threads, files = set(threading.enumerate()), open_files()
    yield
    gc.collect()
    left_threads = [
        thread.name
        for thread in set(threading.enumerate()) - threads
        if thread.name.startswith("waypost")
    ]
    left_files = [name for name in open_files() if name not in files]
    assert (left_threads, left_files) == ([], [])
