"""Bundles in an object store (S3 and compatible, Google, Azure) through obstore.

Credentials come from where the platform keeps them: the environment or the
machine's identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from waypost.exceptions import MissingExtra, NotFound, StorageUnavailable

T = TypeVar("T")


class RemoteStore:
    def __init__(self, url: str) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ModuleNotFoundError as error:
            raise MissingExtra(
                "an archive in an object store needs an extra: pip install 'waypost[archive]'"
            ) from error
        self.location = url
        self._obstore = obstore
        self._store: Any = from_url(url)

    def put(self, key: str, data: bytes) -> None:
        self._call(lambda: self._obstore.put(self._store, key, data))

    def get(self, key: str) -> bytes:
        return self._call(lambda: bytes(self._obstore.get(self._store, key).bytes()))

    def delete(self, key: str) -> None:
        try:
            self._call(lambda: self._obstore.delete(self._store, key))
        except NotFound:
            return

    def keys(self, prefix: str) -> Iterator[str]:
        pages = self._call(lambda: list(self._obstore.list(self._store, prefix.rstrip("/"))))
        for page in pages:
            yield from (entry["path"] for entry in page)

    def _call(self, work: Callable[[], T]) -> T:
        from obstore.exceptions import BaseError

        try:
            return work()
        except FileNotFoundError as error:
            raise NotFound(f"the archive {self.location} lacks an object: {error}") from error
        except (BaseError, OSError) as error:
            first_line = str(error).strip().splitlines()[0]
            raise StorageUnavailable(f"the archive {self.location} failed: {first_line}") from error
