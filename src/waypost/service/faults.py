"""What an error looks like on the wire: one table from our exceptions to JSON-RPC.

The five codes of the specification keep their exact messages; everything else is
the ``code`` of a ``WaypostError``, outside the reserved range. Every error object
carries ``data.retryable``. An exception that is not ours becomes "Internal
error" with nothing but the trace id: its text stays in the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from waypost.exceptions import StorageError, WaypostError

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

_SHOWN_PROBLEMS = 10
_STORAGE_MESSAGE = "the server's store failed"
"""Callers need not know where the database is; the log and ``/readyz`` do."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A JSON-RPC error object in the making."""

    code: int
    message: str
    data: dict[str, Any] = field(default_factory=dict)

    def as_object(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "message": self.message,
            "data": {"retryable": False} | self.data,
        }

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the same call is worth another try, when that is known."""
        seconds = self.data.get("retry_after")
        return float(seconds) if seconds is not None else None


def parse_error(detail: str) -> Fault:
    return Fault(PARSE_ERROR, "Parse error", {"detail": detail})


def invalid_request(detail: str) -> Fault:
    return Fault(INVALID_REQUEST, "Invalid Request", {"detail": detail})


def method_not_found(method: str) -> Fault:
    detail = f"there is no method {method[:100]!r}; rpc.discover lists them"
    return Fault(METHOD_NOT_FOUND, "Method not found", {"detail": detail})


def invalid_params(detail: str, problems: list[dict[str, str]] | None = None) -> Fault:
    data: dict[str, Any] = {"detail": detail}
    return Fault(
        INVALID_PARAMS, "Invalid params", data | ({"problems": problems} if problems else {})
    )


def internal_error(trace_id: str) -> Fault:
    return Fault(INTERNAL_ERROR, "Internal error", {"trace_id": trace_id})


def from_validation(error: ValidationError) -> Fault:
    """Say which parameter is wrong and why, without repeating what was sent."""
    problems = [
        {
            "at": ".".join(str(part) for part in problem["loc"]) or "params",
            "why": problem["msg"].removeprefix("Value error, "),
        }
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    detail = "; ".join(f"{p['at']}: {p['why']}" for p in problems[:_SHOWN_PROBLEMS])
    return invalid_params(detail, problems[:_SHOWN_PROBLEMS])


def from_error(error: WaypostError) -> Fault:
    """The wire form of one of our exceptions."""
    data = {"retryable": error.retryable, "kind": type(error).__name__}
    if isinstance(error, StorageError):
        return Fault(error.code, _STORAGE_MESSAGE, data)
    return Fault(error.code, error.message, data | _plain(error.facts))


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Only facts that JSON can say; the names of our own members stay ours."""
    return {
        name: value
        for name, value in facts.items()
        if isinstance(value, str | int | float | bool) and name not in ("retryable", "kind")
    }


def error_classes() -> dict[int, type[WaypostError]]:
    """Every exception of ours by its code: the table that clients read backwards."""
    return {kind.code: kind for kind in _tree(WaypostError) if "code" in vars(kind)}


def _tree(kind: type[WaypostError]) -> Iterator[type[WaypostError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)
