"""The embedded database: one file, one writer, safe for several processes.

Write-ahead log with ``synchronous=FULL``: a commit that returned survives a power
cut. Writes start with BEGIN IMMEDIATE, so two processes queue instead of failing
half-way. The bundled SQLite of ``pysqlite3`` is used when it is installed,
because the WAL-reset race of SQLite 3.7.0–3.51.2 can damage a file that two
processes share; ``doctor`` names a version inside that range.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool, StaticPool

from waypost.exceptions import StorageReadOnly, StorageUnavailable
from waypost.store.types import to_json

BUSY_TIMEOUT_MS = 30_000
SAFE_BACKPORTS = ((3, 44, 6), (3, 50, 7))
FIRST_SAFE_VERSION = (3, 51, 3)


def driver() -> ModuleType:
    """The sqlite3 module in use: the bundled one when installed, else Python's own."""
    try:
        return importlib.import_module("pysqlite3.dbapi2")
    except ImportError:
        return importlib.import_module("sqlite3")


def has_wal_reset_race(version: tuple[int, ...]) -> bool:
    backported = any(version[:2] == safe[:2] and version >= safe for safe in SAFE_BACKPORTS)
    return version < FIRST_SAFE_VERSION and not backported


class SqliteBackend:
    dialect = "sqlite"
    readers = 2
    """Most of a read is Python and numpy: with more threads they wait for the interpreter, and 100
    callers at once get a third less done. A second one answers while the first is busy long."""

    def __init__(self, path: str) -> None:
        self.in_memory = path == ":memory:"
        self.location = "the in-memory database" if self.in_memory else str(path)
        self.path = None if self.in_memory else Path(path).expanduser().absolute()
        if self.path is not None:
            try:
                self._check_place(self.path)
            except OSError as error:
                raise StorageUnavailable(f"{path} cannot be read: {error.strerror}") from error
        self.writing = self._engine(begin="BEGIN IMMEDIATE")
        # An in-memory database lives in one connection, so reads share it with the writer.
        self.reading = self.writing if self.in_memory else self._engine(begin="BEGIN")
        self.one_writer = not self.in_memory
        if self.in_memory:
            self.readers = 1

    def become(self, connection: Connection, agent: str | None, *, writing: bool) -> None:
        """Nothing to do: isolation on SQLite is the agent_id that every query names."""

    def prepare(self) -> None:
        from waypost.store.migrate import migrate
        from waypost.store.sqlite_planner import advise

        self._look_before_touching()
        migrate(self.writing)
        with self.writing.connect() as connection:
            advise(connection.connection.driver_connection)

    def _look_before_touching(self) -> None:
        """Refuse a file that cannot be ours before its journal mode is changed.

        Only SQLite itself may open the file: when anything else in this process closes
        it, the locks of all our connections to it are gone.
        """
        from waypost.store.migrate import refuse_foreign

        if self.path is None or not self.path.exists():
            return
        _check_permissions(self.path)
        engine = self._engine(begin="BEGIN", configure=_wait_when_busy)
        try:
            with engine.begin() as connection:
                refuse_foreign(connection)
        finally:
            engine.dispose()

    def index_vectors(self, embedder: str, dimension: int, *, alone: bool) -> None:
        """Nothing to do: the index of an embedded database lives in the process."""

    def compact(self) -> bool:
        with self.writing.connect() as connection:
            raw: Any = connection.connection.driver_connection
            raw.execute("VACUUM")
            busy, _, _ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    @staticmethod
    def _check_place(path: Path) -> None:
        if path.is_dir():
            raise StorageUnavailable(
                f"{path} is a folder; name a file such as {path / 'memory.db'}"
            )
        if not path.parent.is_dir():
            raise StorageUnavailable(f"the folder {path.parent} does not exist; create it first")

    def _engine(self, begin: str, configure: Callable[[Any, Any], None] | None = None) -> Engine:
        engine = create_engine(
            f"sqlite:///{self.path or ':memory:'}",
            module=driver(),
            json_serializer=to_json,
            poolclass=StaticPool if self.in_memory else QueuePool,
            connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000},
        )
        event.listen(engine, "connect", configure or _configure)
        event.listen(
            engine,
            "begin",
            lambda connection: connection.connection.driver_connection.execute(begin),
        )
        return engine


def _check_permissions(path: Path) -> None:
    effective = os.access in os.supports_effective_ids
    if not os.access(path, os.R_OK, effective_ids=effective):
        raise StorageUnavailable(f"{path} may not be read; check its permissions")
    if not os.access(path, os.W_OK, effective_ids=effective):
        raise StorageReadOnly(
            f"{path} cannot be written; check the permissions of the file and its folder"
        )


def _wait_when_busy(raw: Any, _: Any) -> None:
    raw.isolation_level = None
    raw.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")


def _configure(raw: Any, _: Any) -> None:
    _wait_when_busy(raw, _)
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "secure_delete = ON",
        "cache_size = -65536",
        "temp_store = MEMORY",
    ):
        raw.execute(f"PRAGMA {pragma}")
