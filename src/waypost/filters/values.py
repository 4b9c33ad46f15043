"""Checking the values of a filter against the type of their field."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any
from uuid import UUID

from waypost.exceptions import InvalidInput
from waypost.filters.conditions import Scalar
from waypost.filters.fields import Field, FieldType
from waypost.model.times import to_utc

_MOST_VALUES = 1000
_LARGEST_NUMBER = 2.0**53
_LARGEST_LIMIT = 100_000


def check_scalar(field: Field, value: Any) -> Scalar:
    """Return the value in the form all evaluators compare, or InvalidInput."""
    if field.type is FieldType.ID:
        return _id(field, value)
    if field.type is FieldType.NUMBER:
        return _number(field, value)
    if field.type is FieldType.TIME:
        return _time(field, value)
    if field.type is FieldType.BOOL:
        return _bool(field, value)
    if field.type is FieldType.JSON:
        return _json_scalar(field, value)
    return _text(field, value)


def check_scalars(field: Field, values: Any) -> tuple[Scalar, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, list | tuple | set | frozenset):
        raise InvalidInput(f"{field.label}: $in and $nin take a list, not {values!r}")
    if len(values) > _MOST_VALUES:
        raise InvalidInput(f"{field.label}: {len(values)} values; at most {_MOST_VALUES} are taken")
    return tuple(check_scalar(field, value) for value in values)


def check_limit(limit: Any) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit <= _LARGEST_LIMIT:
        raise InvalidInput(f"limit is a whole number from 0 to {_LARGEST_LIMIT:,}, not {limit!r}")
    return limit


def _wrong(field: Field, value: Any, wanted: str) -> InvalidInput:
    return InvalidInput(
        f"{field.label} is a {field.type}; it compares with {wanted}, not {value!r}"
    )


def _text(field: Field, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(field, value, "text")
    if "\x00" in value or (not value.isascii() and _has_surrogate(value)):
        raise InvalidInput(f"{field.label}: text in a filter has no NUL and no lone surrogate")
    if field.choices and value not in field.choices:
        raise InvalidInput(f"{field.label} is one of {', '.join(field.choices)}, not {value!r}")
    return str(value)


def _has_surrogate(value: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in value)


def _id(field: Field, value: Any) -> str:
    try:
        return str(UUID(_text(field, value)))
    except ValueError:
        raise _wrong(field, value, "a UUID") from None


def _number(field: Field, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(field, value, "a number")
    if not math.isfinite(value) or abs(value) > _LARGEST_NUMBER:
        raise InvalidInput(f"{field.label}: {value!r} is not a finite number below 2**53")
    return value


def _bool(field: Field, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong(field, value, "True or False")
    return value


def _time(field: Field, value: Any) -> datetime:
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if isinstance(value, datetime):
            return to_utc(value)
    except ValueError as error:
        raise InvalidInput(f"{field.label}: {error}") from None
    raise _wrong(field, value, "an aware datetime or an ISO 8601 text")


def _json_scalar(field: Field, value: Any) -> Scalar:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(field, value)
    if isinstance(value, int | float):
        return _number(field, value)
    raise _wrong(field, value, "text, a number, True or False")
