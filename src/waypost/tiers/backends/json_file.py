"""Items in one JSON file that is never half-written.

The file is a snapshot, replaced as a whole by an atomic rename. Between snapshots
every change is first appended to a journal beside it and flushed to disk, so a
crash loses nothing that was acknowledged; the snapshot itself is rewritten at most
once per ``debounce`` seconds, and on ``flush`` and ``close``. One process at a
time may have the file open.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from waypost.exceptions import StorageCorrupt, StorageUnavailable
from waypost.model.context import ContextItem
from waypost.retention.objects import write_file
from waypost.tiers.backends.in_memory import InMemoryBackend

_FORMAT = "waypost-items-1"


class JsonFileBackend(InMemoryBackend):
    def __init__(
        self,
        path: str | Path,
        *,
        debounce: float = 1.0,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._path = Path(path)
        self._journal_path = self._path.with_name(self._path.name + ".journal")
        self._debounce = debounce
        self._timer = timer
        self._lock_file = _locked(self._path.with_name(self._path.name + ".lock"))
        try:
            self._load()
            self._journal = self._journal_path.open("ab")
            self._save()
        except BaseException:
            self._lock_file.close()
            raise

    def add(self, item: ContextItem) -> None:
        with self._lock:
            self._record({"add": item.model_dump(mode="json")})
            super().add(item)
            self._save_when_due()

    def delete(self, item_id: str) -> bool:
        with self._lock:
            if self.get(item_id) is None:
                return False
            self._record({"delete": item_id})
            super().delete(item_id)
            self._save_when_due()
            return True

    def clear(self) -> None:
        with self._lock:
            self._record({"clear": True})
            super().clear()
            self._save()

    def flush(self) -> None:
        """Write the snapshot now and empty the journal."""
        with self._lock:
            self._save()

    def close(self) -> None:
        with self._lock:
            if not self._journal.closed:
                self._save()
                self._journal.close()
                self._lock_file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def _record(self, change: dict[str, Any]) -> None:
        self._journal.write(json.dumps(change, ensure_ascii=False).encode() + b"\n")
        self._journal.flush()
        os.fsync(self._journal.fileno())

    def _save_when_due(self) -> None:
        if self._timer() - self._saved_at >= self._debounce:
            self._save()

    def _save(self) -> None:
        """Replace the snapshot, then empty the journal; replaying it twice does no harm."""
        document = {
            "format": _FORMAT,
            "items": [item.model_dump(mode="json") for item in self.list_all()],
        }
        write_file(self._path, json.dumps(document, ensure_ascii=False).encode())
        self._journal.truncate(0)
        os.fsync(self._journal.fileno())
        self._saved_at = self._timer()

    def _load(self) -> None:
        if self._path.exists():
            for value in _snapshot_items(self._path):
                super().add(_item(value, self._path))
        for change in _changes(self._journal_path):
            self._replay(change)

    def _replay(self, change: dict[str, Any]) -> None:
        if "add" in change:
            super().add(_item(change["add"], self._journal_path))
        elif "delete" in change:
            super().delete(change["delete"])
        else:
            super().clear()


def _locked(path: Path) -> Any:
    """Hold the lock file; a second process is told, not left to overwrite the first."""
    file = path.open("wb")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass  # a platform without flock: one process is the caller's promise
    except OSError as error:
        file.close()
        raise StorageUnavailable(f"{path.with_suffix('')} is open in another process") from error
    return file


def _snapshot_items(path: Path) -> Iterable[Any]:
    try:
        document = json.loads(path.read_bytes())
    except ValueError as error:
        raise StorageCorrupt(f"{path} is not a file of items: {error}") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise StorageCorrupt(f"{path} is not a file of items that this Waypost can read")
    items: Iterable[Any] = document["items"]
    return items


def _changes(path: Path) -> Iterable[dict[str, Any]]:
    """The journal's complete lines; a last line that was cut off was never acknowledged."""
    if not path.exists():
        return
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            yield json.loads(line)
        except ValueError as error:
            raise StorageCorrupt(f"{path} has a damaged line: {error}") from error


def _item(value: Any, path: Path) -> ContextItem:
    try:
        return ContextItem.model_validate(value)
    except ValidationError as error:
        raise StorageCorrupt(f"{path} holds an item that cannot be read: {error}") from error
