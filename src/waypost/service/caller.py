"""Who is calling, and within which trace.

A ``Caller`` is what a verified token says; nothing in a request can change it.
``Trace`` joins the log lines and answers of one request to those of other
systems: from ``a2a_context.trace_id``, else from a W3C ``traceparent``, else new.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from waypost.exceptions import Forbidden


class Scope(StrEnum):
    """What a token allows. Each one includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_SCOPES = frozenset(Scope)
_ORDER = tuple(Scope)


@dataclass(frozen=True, slots=True)
class Caller:
    """One agent, and what it may do."""

    agent: str
    scopes: frozenset[Scope] = ALL_SCOPES

    def may(self, scope: Scope) -> bool:
        return any(_ORDER.index(held) >= _ORDER.index(scope) for held in self.scopes)

    def check_scope(self, scope: Scope) -> None:
        if not self.may(scope):
            raise Forbidden(f"this needs the scope {scope.value!r}", scope=scope.value)

    def check_context(self, context: dict[str, Any] | None) -> None:
        """Refuse a request that claims to come from another agent than its token says."""
        claimed = context.get("source_agent") if context else None
        if claimed is not None and claimed != self.agent:
            raise Forbidden("a2a_context.source_agent is not the agent of the token")


_TRACEPARENT = re.compile(r"^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$")
_TRACE_ID = re.compile(r"^[\w.:/@+-]{1,128}$", re.ASCII)


@dataclass(frozen=True, slots=True)
class Trace:
    """``id`` names the request in logs and answers; ``parent`` is the caller's traceparent."""

    id: str
    parent: str | None = None

    def within(self, context: dict[str, Any] | None) -> Trace:
        """The same trace under the id that the call's own context gives, if it is usable."""
        given = context.get("trace_id") if context else None
        if isinstance(given, str) and _TRACE_ID.fullmatch(given):
            return Trace(given, self.parent)
        return self


def read_trace(traceparent: str | None) -> Trace:
    """Continue the caller's trace, or begin one when the header is absent or malformed."""
    match = _TRACEPARENT.fullmatch(traceparent) if traceparent else None
    if match is None or match[1] == "0" * 32 or match[2] == "0" * 16:
        return Trace(os.urandom(16).hex())
    return Trace(match[1], traceparent)
