"""The one place where a driver's error becomes ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from waypost.exceptions import (
    Forbidden,
    StorageCorrupt,
    StorageError,
    StorageReadOnly,
    StorageUnavailable,
)
from waypost.store.sqlite import driver

_SIGNS: tuple[tuple[tuple[str, ...], type[StorageError], str], ...] = (
    (
        ("database is locked", "database is busy", "database table is locked"),
        StorageUnavailable,
        "{where} is locked by another process; try again",
    ),
    (
        ("readonly database", "read-only transaction", "read-only file"),
        StorageReadOnly,
        "{where} cannot be written; check the permissions of the file and its folder",
    ),
    (
        ("disk is full", "no space left", "disk full"),
        StorageUnavailable,
        "no space left where {where} is kept; nothing was written",
    ),
    (
        ("not a database", "malformed", "disk image"),
        StorageCorrupt,
        "{where} is damaged or not a Waypost database; restore it from a backup or an export",
    ),
    (
        ("unable to open database file",),
        StorageUnavailable,
        "{where} cannot be opened; check that its folder exists and can be written",
    ),
)


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Raise our errors instead of the driver's."""
    try:
        yield
    except (SQLAlchemyError, driver().Error) as error:
        raise _ours(error, where) from error


def _ours(error: Exception, where: str) -> Exception:
    text = str(getattr(error, "orig", None) or error)
    lowered = text.lower()
    for signs, kind, message in _SIGNS:
        if any(sign in lowered for sign in signs):
            return kind(message.format(where=where))
    if "row-level security" in lowered:
        return Forbidden("the write names another agent than the one it is made for")
    if isinstance(error, DBAPIError) and (error.connection_invalidated or _disconnected(lowered)):
        return StorageUnavailable(f"the connection to {where} was lost; try again")
    first_line = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    return StorageError(f"{where}: {first_line}")


def _disconnected(text: str) -> bool:
    signs = (
        "connection refused",
        "connection failed",
        "server closed",
        "timeout expired",
        "could not connect",
        "terminating connection",
        "connection timeout",
    )
    return any(sign in text for sign in signs)
