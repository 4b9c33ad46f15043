"""What is recorded about a call: a log line, metrics, a span. Never contents or secrets.

The dispatcher fills an ``Observation`` and hands it to an ``Observer``. The plain
observer records nothing; the service puts one together from logs, metrics and,
when OpenTelemetry is installed and configured, spans.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from waypost.service.caller import Trace

OK = 0


@dataclass(slots=True)
class Observation:
    """One finished call. ``method`` is empty when the name was not one of ours."""

    method: str
    agent: str
    trace_id: str
    code: int = OK
    seconds: float = 0.0
    degraded: bool = False


class Observer:
    """Looks on. The base class does nothing, so that in-process use costs nothing."""

    def finished(self, seen: Observation) -> None:
        """Called once per call, whatever came of it."""

    def crashed(self, seen: Observation, error: Exception) -> None:
        """Called before ``finished`` when a handler raised what it should not have."""

    @contextmanager
    def span(self, seen: Observation, trace: Trace) -> Iterator[None]:
        """Surrounds the work of one call."""
        yield


class Observers(Observer):
    """Several observers as one."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers
        self._spanning = [each for each in observers if type(each).span is not Observer.span]

    def finished(self, seen: Observation) -> None:
        for observer in self._observers:
            observer.finished(seen)

    def crashed(self, seen: Observation, error: Exception) -> None:
        for observer in self._observers:
            observer.crashed(seen, error)

    @contextmanager
    def span(self, seen: Observation, trace: Trace) -> Iterator[None]:
        with ExitStack() as stack:
            for observer in self._spanning:
                stack.enter_context(observer.span(seen, trace))
            yield
