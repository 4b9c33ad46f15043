"""Where archived bundles lie: a small port, a folder, and plain memory for tests and ``:memory:``.

``put`` is durable when it returns and replaces what was there; ``get`` of a missing
key is NotFound; ``delete`` of a missing key does nothing. Calls block: run them in
a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from waypost.exceptions import InvalidInput, NotFound, StorageError, StorageUnavailable


class ObjectStore(Protocol):
    location: str

    def put(self, key: str, data: bytes) -> None: ...

    def get(self, key: str) -> bytes: ...

    def delete(self, key: str) -> None: ...

    def keys(self, prefix: str) -> Iterator[str]:
        """Every key below a prefix that ends with a slash, in no particular order."""


class FolderStore:
    """Objects as files. Made on the first put; files appear whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.location = str(folder)

    def put(self, key: str, data: bytes) -> None:
        path = self._folder / key
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, data)
        except OSError as error:
            raise StorageUnavailable(f"the archive {self.location} failed: {error}") from error

    def get(self, key: str) -> bytes:
        try:
            return (self._folder / key).read_bytes()
        except FileNotFoundError:
            raise NotFound(f"the archive {self.location} has no object {key}") from None
        except OSError as error:
            raise StorageUnavailable(f"the archive {self.location} failed: {error}") from error

    def delete(self, key: str) -> None:
        (self._folder / key).unlink(missing_ok=True)

    def keys(self, prefix: str) -> Iterator[str]:
        for path in sorted((self._folder / prefix).glob("*")):
            yield path.relative_to(self._folder).as_posix()


class VolatileStore:
    """Objects in a dictionary: the archive of a database that is itself in memory."""

    location = "the in-memory archive"

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}

    def put(self, key: str, data: bytes) -> None:
        self._objects[key] = data

    def get(self, key: str) -> bytes:
        if key not in self._objects:
            raise NotFound(f"{self.location} has no object {key}")
        return self._objects[key]

    def delete(self, key: str) -> None:
        self._objects.pop(key, None)

    def keys(self, prefix: str) -> Iterator[str]:
        yield from [key for key in sorted(self._objects) if key.startswith(prefix)]


class UnconfiguredStore:
    """Stands where no archive was named: every use says what to do."""

    location = "no archive"

    def put(self, key: str, data: bytes) -> None:
        raise self._missing()

    def get(self, key: str) -> bytes:
        raise self._missing()

    def delete(self, key: str) -> None:
        raise self._missing()

    def keys(self, prefix: str) -> Iterator[str]:
        yield from ()

    def _missing(self) -> StorageError:
        return StorageError(
            "no archive is configured, and nothing is deleted without one; open with "
            "archive_url='s3://bucket/path' or a folder"
        )


def object_store(url: str | None, database_file: Path | None, *, in_memory: bool) -> ObjectStore:
    """The store that a URL names; by default a folder beside the database file."""
    if url is None:
        if database_file is not None:
            return FolderStore(database_file.with_name(database_file.name + ".archive"))
        return VolatileStore() if in_memory else UnconfiguredStore()
    parts = urlsplit(url)
    if parts.scheme == "file":
        return FolderStore(Path(unquote(parts.path)))
    if "://" not in url:
        return FolderStore(Path(url).expanduser().absolute())
    if parts.scheme not in ("s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss"):
        raise InvalidInput(
            f"{url!r} names no archive that Waypost knows; use a folder, file://, s3://, gs:// "
            "or az://"
        )
    from waypost.retention.remote_objects import RemoteStore

    return RemoteStore(url)


def write_file(path: Path, data: bytes) -> None:
    """Replace a file durably: a crash leaves the old content or the new one, never a part."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
