"""The registry of methods and the dispatcher behind every transport.

A method is a name, a model of its parameters, a model of its result and a
handler. The dispatcher reads a request, checks who may call what, validates the
parameters, runs the handlers within their limits and writes the answer. In
process, over HTTP and over stdio it is this one object that answers.

Invariants: a notification is never answered; an answer has exactly one of result
and error; an exception never leaves ``Dispatcher.handle``; calls of a batch run in
their order, so a later one sees what an earlier one wrote.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from waypost.exceptions import StorageError, TimedOut, WaypostError
from waypost.service import faults, messages
from waypost.service.caller import Caller, Scope, Trace
from waypost.service.faults import Fault
from waypost.service.limits import Limits, RateLimiter
from waypost.service.messages import Call, Malformed
from waypost.service.observe import OK, Observation, Observer

Handler = Callable[[Any, Any], Awaitable[BaseModel]]
"""Takes the caller's memory and the validated parameters, gives the result."""


@dataclass(frozen=True, slots=True)
class Method:
    """One thing that can be called. The docstring of its handler is its published text."""

    name: str
    params: type[BaseModel]
    result: type[BaseModel]
    scope: Scope
    handler: Handler

    @property
    def description(self) -> str:
        return (self.handler.__doc__ or "").strip()


class Registry:
    """The methods by name, in the order they were added."""

    def __init__(self) -> None:
        self._methods: dict[str, Method] = {}

    def add(self, method: Method) -> None:
        if method.name in self._methods:
            raise ValueError(f"the method {method.name!r} is registered twice")
        self._methods[method.name] = method

    def find(self, name: str) -> Method | None:
        return self._methods.get(name)

    def __iter__(self) -> Iterator[Method]:
        return iter(self._methods.values())

    def __len__(self) -> int:
        return len(self._methods)


@dataclass(frozen=True, slots=True)
class Answer:
    """``body`` is None when there is nothing to answer; ``fault`` is that of one failed call."""

    body: bytes | None
    fault: Fault | None = None


class Dispatcher:
    """Answers requests with a registry. ``bind`` gives the memory that a caller works on."""

    def __init__(
        self,
        registry: Registry,
        bind: Callable[[Caller], Any],
        *,
        limits: Limits | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._registry = registry
        self._bind = bind
        self._limits = limits or Limits()
        self._rate = RateLimiter(self._limits.rate_per_second, self._limits.burst)
        self._observer = observer or Observer()

    async def handle(self, body: bytes, caller: Caller, trace: Trace) -> Answer:
        """Answer one request or batch. Never raises, except when it is cancelled."""
        request = messages.read(body, max_batch=self._limits.max_batch)
        outcomes = [await self._answer(item, caller, trace) for item in request.items]
        if not request.batch:
            return outcomes[0]
        parts = [outcome.body for outcome in outcomes if outcome.body is not None]
        return Answer(b"[" + b",".join(parts) + b"]" if parts else None)

    async def _answer(self, item: Call | Malformed, caller: Caller, trace: Trace) -> Answer:
        if isinstance(item, Malformed):
            self._observer.finished(Observation("", caller.agent, trace.id, code=item.fault.code))
            return Answer(messages.failure(item.id, item.fault), item.fault)
        trace = trace.within(item.context)
        outcome = await self._run_observed(item, caller, trace)
        if item.id is None:
            return Answer(None)
        if isinstance(outcome, Fault):
            return Answer(messages.failure(item.id, outcome, item.context), outcome)
        return Answer(messages.success(item.id, outcome, item.context))

    async def _run_observed(self, call: Call, caller: Caller, trace: Trace) -> bytes | Fault:
        """Run one call and turn whatever it raises into a fault: the one broad catch."""
        method = self._registry.find(call.method)
        seen = Observation(method.name if method else "", caller.agent, trace.id)
        started = time.perf_counter()
        outcome: bytes | Fault
        try:
            with self._observer.span(seen, trace):
                outcome = await self._run(method, call, caller, seen)
        except WaypostError as error:
            if isinstance(error, StorageError):
                self._observer.crashed(seen, error)
            outcome = faults.from_error(error)
        except ValidationError as error:
            outcome = faults.from_validation(error)
        except _Refused as refused:
            outcome = refused.fault
        except Exception as error:  # noqa: BLE001 - the boundary: logged here, hidden from callers
            self._observer.crashed(seen, error)
            outcome = faults.internal_error(trace.id)
        seen.seconds = time.perf_counter() - started
        seen.code = outcome.code if isinstance(outcome, Fault) else OK
        self._observer.finished(seen)
        return outcome

    async def _run(
        self, method: Method | None, call: Call, caller: Caller, seen: Observation
    ) -> bytes:
        caller.check_context(call.context)
        self._rate.take(caller.agent)
        if method is None:
            raise _Refused(faults.method_not_found(call.method))
        caller.check_scope(method.scope)
        params = method.params.model_validate(_named(method, call.params))
        result = await self._within_time(method.handler(self._bind(caller), params))
        seen.degraded = bool(getattr(result, "degraded", False))
        return result.__pydantic_serializer__.to_json(result, by_alias=True)

    async def _within_time(self, work: Awaitable[BaseModel]) -> BaseModel:
        try:
            async with asyncio.timeout(self._limits.call_seconds):
                return await work
        except TimeoutError:
            raise TimedOut(
                f"the call was not finished within {self._limits.call_seconds:g} s; a write may "
                "still take effect, so repeat it with the same idempotency key"
            ) from None


class _Refused(Exception):
    """Carries a fault of the specification's own range."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def _named(method: Method, params: dict[str, Any] | list[Any] | None) -> dict[str, Any]:
    """Parameters by name; a list is matched to the fields of the model in their order."""
    if params is None:
        return {}
    if isinstance(params, dict):
        return params
    names = list(method.params.model_fields)
    if len(params) > len(names):
        detail = f"{len(params)} positional parameters; {method.name} takes at most {len(names)}"
        raise _Refused(faults.invalid_params(detail))
    return dict(zip(names, params, strict=False))
