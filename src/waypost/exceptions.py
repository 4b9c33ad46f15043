"""Everything Waypost raises, as one tree.

    WaypostError
    ├── InvalidInput            what the caller passed cannot be used
    │   ├── UnknownField        a filter, order or update names a field that does not exist
    │   ├── UnknownOperator     a filter uses an operator that does not exist
    │   ├── DimensionMismatch   a vector of another length, or from another embedder
    │   └── ContentTooLarge     more text than one memory may hold
    ├── NotFound                no such memory, task, stage or item for this agent
    ├── Conflict                the request contradicts what is stored
    │   ├── IdempotencyConflict the same key came with a different body
    │   ├── VersionConflict     the record changed since the caller read it
    │   └── StageClosed         a completed stage cannot be written to or reopened
    ├── Forbidden               the caller may not do this (another agent, project or scope)
    ├── Unauthenticated         no token, or one that does not prove who is calling
    ├── Overloaded              the service cannot take this call now; it may work later
    │   ├── RateLimited         this agent has used up its calls for the moment
    │   ├── TimedOut            the call was not finished within its time
    │   └── ServiceUnavailable  the service cannot be reached, or is shutting down
    ├── ProviderError           an embedder or chat model failed
    │   └── ProviderUnavailable it may work later (time-out, refused, rate limit, open breaker)
    ├── StorageError            the database or archive failed
    │   ├── StorageUnavailable  it may work later (locked, disconnected, no space)
    │   ├── StorageReadOnly     the file or server cannot be written
    │   ├── StorageCorrupt      the file is not a Waypost database, or is damaged
    │   └── SchemaTooNew        the database was written by a newer Waypost
    └── MissingExtra            an optional dependency is not installed

Each class has a stable ``code`` (used by the service and the command line) and
says in ``retryable`` whether the same call can succeed later. The facts behind
an error are keyword arguments, kept in ``facts``.
"""

from __future__ import annotations

from typing import Any, ClassVar


class WaypostError(Exception):
    """Base of every error that Waypost raises on purpose."""

    code: ClassVar[int] = 1000
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts


class InvalidInput(WaypostError, ValueError):
    code = 1100


class UnknownField(InvalidInput):
    code = 1101


class UnknownOperator(InvalidInput):
    code = 1102


class DimensionMismatch(InvalidInput):
    code = 1103


class ContentTooLarge(InvalidInput):
    code = 1104


class NotFound(WaypostError, LookupError):
    code = 1200


class Conflict(WaypostError):
    code = 1300


class IdempotencyConflict(Conflict):
    code = 1301


class VersionConflict(Conflict):
    code = 1302


class StageClosed(Conflict):
    code = 1303


class Forbidden(WaypostError):
    code = 1400


class Unauthenticated(WaypostError):
    code = 1401


class ProviderError(WaypostError):
    code = 1500


class ProviderUnavailable(ProviderError):
    code = 1501
    retryable = True


class StorageError(WaypostError):
    code = 1600


class StorageUnavailable(StorageError):
    code = 1601
    retryable = True


class StorageReadOnly(StorageError):
    code = 1602


class StorageCorrupt(StorageError):
    code = 1603


class SchemaTooNew(StorageError):
    code = 1604


class MissingExtra(WaypostError, ImportError):
    code = 1700


class Overloaded(WaypostError):
    code = 1800
    retryable = True


class RateLimited(Overloaded):
    code = 1801


class TimedOut(Overloaded):
    code = 1802


class ServiceUnavailable(Overloaded):
    code = 1803
