"""Checking what callers pass in, with errors that say what would be right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from waypost.exceptions import ContentTooLarge, InvalidInput
from waypost.model.storable import MAX_CONTENT_CHARACTERS
from waypost.model.times import to_utc

Model = TypeVar("Model", bound=BaseModel)
Choice = TypeVar("Choice", bound=StrEnum)


def checked(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Validate input; the error names the field, what is wrong and what would be right."""
    if not isinstance(values, Mapping):
        raise InvalidInput(
            f"a {model.__name__} is given by its fields, not by a {type(values).__name__}"
        )
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise _invalid(model, values, error) from error


def checked_id(memory_id: str) -> str:
    from uuid import UUID

    try:
        return str(UUID(str(memory_id)))
    except ValueError:
        raise InvalidInput(f"{memory_id!r} is not a memory id; ids are UUIDs") from None


def checked_time(moment: datetime) -> datetime:
    """The time in UTC; one without a zone is refused, never guessed."""
    try:
        return to_utc(moment)
    except ValueError as error:
        raise InvalidInput(str(error)) from None


def _invalid(
    model: type[BaseModel], values: Mapping[str, Any], error: ValidationError
) -> InvalidInput:
    content = values.get("content")
    kind = InvalidInput
    if isinstance(content, str) and len(content) > MAX_CONTENT_CHARACTERS:
        kind = ContentTooLarge
    return kind(
        describe(model, error), fields=[".".join(map(str, e["loc"])) for e in error.errors()]
    )


def describe(model: type[BaseModel], error: ValidationError) -> str:
    parts: Sequence[str] = [_sentence(model, dict(problem)) for problem in error.errors()]
    return "; ".join(parts)


def _sentence(model: type[BaseModel], problem: dict[str, Any]) -> str:
    place = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        known = ", ".join(sorted(model.model_fields))
        return f"{place!r} is not a field of {model.__name__}; known are {known}"
    if problem["type"] == "enum":
        place = place.removesuffix(".0")
        expected = str(problem["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
        return f"{place}: {problem['input']!r} is not one of {expected}"
    if problem["type"] == "string_pattern_mismatch":
        return f"{place}: {problem['input']!r} is no name; use lower-case letters, digits and _"
    if problem["type"].endswith("too_short") and problem["input"] == "":
        return f"{place} is empty"
    if problem["type"].endswith("too_long") and isinstance(problem["input"], str):
        most = problem["ctx"]["max_length"]
        return f"{place} has {len(problem['input']):,} characters; at most {most:,} are allowed"
    message = str(problem["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


def checked_choice(choices: type[Choice], value: str) -> Choice:
    """One of a closed vocabulary; the error lists all of it."""
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(choices)
        raise InvalidInput(f"{value!r} is not one of {known}", value=value) from None
