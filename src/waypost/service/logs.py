"""Structured log lines, one JSON object each, that never hold contents or secrets.

A line says which method, which agent, which trace, how it ended and how long it
took. A crash adds the type of the exception and the places it passed through; its
message stays out, since drivers like to quote values.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any, TextIO

import structlog

from waypost.service.observe import OK, Observation, Observer

Log = structlog.typing.FilteringBoundLogger


def make_log(stream: TextIO | None = None, *, plain: bool = False) -> Log:
    """A logger to ``stream`` (stderr by default): JSON lines, or coloured text for people."""
    renderer: Any = structlog.processors.JSONRenderer(sort_keys=False)
    if plain:
        renderer = structlog.dev.ConsoleRenderer()
    log: Log = structlog.wrap_logger(
        structlog.WriteLogger(stream or sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
    )
    return log


class LoggingObserver(Observer):
    """Writes one line per call."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def finished(self, seen: Observation) -> None:
        write = self._log.info if seen.code == OK else self._log.warning
        write(
            "call",
            method=seen.method or "unknown",
            agent=seen.agent,
            trace_id=seen.trace_id,
            code=seen.code,
            milliseconds=round(seen.seconds * 1000, 3),
            **({"degraded": True} if seen.degraded else {}),
        )

    def crashed(self, seen: Observation, error: Exception) -> None:
        self._log.error(
            "crash",
            method=seen.method or "unknown",
            agent=seen.agent,
            trace_id=seen.trace_id,
            exception=f"{type(error).__module__}.{type(error).__qualname__}",
            places=places(error),
        )


def places(error: BaseException) -> list[str]:
    """Where an exception passed through, without its message or any value."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


class QuietHandler(logging.Handler):
    """Carries the standard library's log records into the structured log.

    Records of other packages are reduced to their logger, level and template: the
    arguments they would fill in may hold contents.
    """

    def __init__(self, log: Log) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            fields["exception"] = type(record.exc_info[1]).__name__
            fields["places"] = places(record.exc_info[1])
        message = record.getMessage() if record.name.startswith("uvicorn") else str(record.msg)
        self._log.log(record.levelno, message, **fields)
