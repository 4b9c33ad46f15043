"""Turning a method of the library into a call of the service.

A remote method takes its signature, its documentation and the type of its value from
its twin in the library, so the two cannot drift apart. What is said here, once per
method, is only where it goes: the name of the call, the part of the result that is
the value, and how the arguments are sent when not simply by their names.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, Protocol, TypeVar, get_type_hints

from pydantic import BaseModel, TypeAdapter
from pydantic_core import PydanticSerializationError, to_jsonable_python

from waypost.client.connection import Client
from waypost.exceptions import InvalidInput
from waypost.twins import Twin

P = ParamSpec("P")
T = TypeVar("T")


class Remote(Protocol):
    """What has remote methods: a connection, and parameters that go with every call."""

    _client: Client
    _common: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """Where a method goes.

    ``member`` is the part of the result that is the value; ``renamed`` maps members of the
    result to fields of the value. ``params`` takes the arguments of the method and gives the
    parameters of the call. ``repeatable`` if doing it twice does no harm.
    """

    method: str
    member: str | None = None
    params: Callable[..., Mapping[str, Any]] | None = None
    repeatable: bool = True
    renamed: Mapping[str, str] = field(default_factory=dict)


def remote(
    twin: Callable[P, Coroutine[Any, Any, T]], operation: Operation
) -> Twin[P, Coroutine[Any, Any, T]]:
    """The method of a remote object that does what its twin does."""
    send = operation.params or by_name(twin)
    adapter = functools.cache(lambda: TypeAdapter(get_type_hints(twin)["return"]))

    async def method(self: Remote, /, *args: P.args, **kwargs: P.kwargs) -> T:
        params = {**jsonable(send(*args, **kwargs)), **self._common}
        answer = await self._client.call(operation.method, params, repeatable=operation.repeatable)
        found: T = adapter().validate_python(_value(operation, answer), extra="ignore")
        return found

    return Twin(twin, method)


def _value(operation: Operation, answer: dict[str, Any]) -> Any:
    if operation.member is not None:
        return answer.get(operation.member)
    for old, new in operation.renamed.items():
        answer[new] = answer.pop(old)
    return answer


def by_name(twin: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """The arguments that were given, by the names of the twin's parameters."""
    signature = inspect.signature(twin)
    signature = signature.replace(parameters=list(signature.parameters.values())[1:])
    rest = [p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD]

    def named(*args: Any, **kwargs: Any) -> dict[str, Any]:
        given = signature.bind(*args, **kwargs).arguments
        for name in rest:
            given |= given.pop(name, {})
        return given

    return named


def jsonable(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON can carry them; of models, what the caller set."""
    try:
        return {
            name: plain(value) if isinstance(value, BaseModel) else to_jsonable_python(value)
            for name, value in params.items()
        }
    except PydanticSerializationError as error:
        raise InvalidInput(f"an argument cannot be sent to a server: {error}") from None


def plain(value: BaseModel) -> dict[str, Any]:
    """What the caller set, as JSON can carry it."""
    return value.model_dump(mode="json", exclude_unset=True, by_alias=True)
