"""Tools of an agent: plain functions whose signature is their schema.

    @tool
    async def visit(url: str) -> str:
        "Read a web page."

A parameter named ``run`` gets the :class:`RunContext`: the payload and the application's context,
which the model never sees. A tool that raises :class:`ToolError` tells the model why; so does any
other ``Exception``, by its type and message. A tool that is no coroutine runs in a thread, so that
one that waits holds up nobody else.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from waypost.content.messages import Message
from waypost.exceptions import InvalidInput

logger = logging.getLogger(__name__)


class ToolError(Exception):
    """A tool could not do what was asked; the message is for the model."""


@dataclass
class RunContext:
    """What tools share in a run: the payload, which the run returns, and the caller's context."""

    payload: dict[str, Any] = field(default_factory=dict)
    context: Any = None
    run_id: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a tool returned, or why it did not."""

    content: Any
    is_error: bool = False


@dataclass(frozen=True)
class Tool:
    """One tool. ``media_type`` says what it returns, when that is always the same."""

    name: str
    description: str
    arguments: type[BaseModel]
    function: Callable[..., Any]
    media_type: str = ""
    pinned: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        return schema

    def schema(self) -> Message:
        """The tool as OpenAI's chat completions take it."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}

    async def run(
        self,
        arguments: str | Mapping[str, Any],
        context: RunContext,
        *,
        seconds: float | None = None,
    ) -> Outcome:
        """Check the arguments and call the function; every failure becomes an outcome."""
        try:
            given = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
            checked = self.arguments.model_validate(given)
        except (ValidationError, ValueError, RecursionError) as error:
            return Outcome(self._explained(error), is_error=True)
        values = {name: getattr(checked, name) for name in type(checked).model_fields}
        if "run" in inspect.signature(self.function).parameters:
            values["run"] = context
        try:
            async with asyncio.timeout(seconds) as limit:
                return Outcome(await self._called(values))
        except ToolError as error:
            return Outcome(f"Error: {error}", is_error=True)
        except Exception as error:
            if limit.expired():
                return Outcome(f"Error: {self.name} took longer than {seconds:g} s", is_error=True)
            logger.exception("tool %s failed", self.name)
            return Outcome(f"Error: {type(error).__name__}: {error}", is_error=True)

    async def _called(self, values: dict[str, Any]) -> Any:
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**values)
        result = await asyncio.to_thread(self.function, **values)
        return await result if inspect.isawaitable(result) else result

    def _explained(self, error: Exception) -> str:
        known = ", ".join(self.arguments.model_fields) or "no arguments"
        if not isinstance(error, ValidationError):
            return f"Error: {self.name}: the arguments are not a JSON object; it takes {known}"
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "arguments"
        return f"Error: {self.name}: {place}: {first['msg']}; it takes {known}"


def tool(function: Callable[..., Any], **settings: Any) -> Tool:
    """Make a tool of a function: name, docstring and annotated parameters become its schema."""
    description = inspect.getdoc(function)
    name = getattr(function, "__name__", "")
    if not description or not name.isidentifier():
        raise InvalidInput(f"a tool needs a name and a docstring that says what it does: {name!r}")
    return Tool(name, " ".join(description.split()), _arguments(function), function, **settings)


def _arguments(function: Callable[..., Any]) -> type[BaseModel]:
    hints = get_type_hints(function)
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "run":
            continue
        if name not in hints:
            raise InvalidInput(f"parameter {name!r} of the tool needs a type")
        missing = parameter.default is inspect.Parameter.empty
        fields[name] = (hints[name], ... if missing else parameter.default)
    model_name = getattr(function, "__name__", "tool")
    return create_model(model_name, __config__=ConfigDict(extra="forbid"), **fields)
