"""Comparisons inside JSON columns, for SQLite and PostgreSQL.

A value compares only with its own family (text, number, bool), and equality
looks into a list as ``evaluate`` does. Keys are reached one at a time, so a key
made of digits never indexes a list.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Double,
    Text,
    and_,
    case,
    cast,
    collate,
    exists,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.dialects.postgresql import JSONB

from waypost.filters.conditions import Comparison, Operator, Scalar

_SQLITE_TYPES = {bool: ("true", "false"), str: ("text",), float: ("integer", "real")}


def leaf(comparison: Comparison, column: ColumnElement[Any], dialect: str) -> ColumnElement[bool]:
    if dialect == "postgresql":
        return _postgres_leaf(comparison, column)
    return _sqlite_leaf(comparison, column)


def as_tuple(value: Scalar | tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    return value if isinstance(value, tuple) else (value,)


def ordered(
    operator: Operator, column: ColumnElement[Any], bound: ColumnElement[Any]
) -> ColumnElement[bool]:
    match operator:
        case Operator.GT:
            return column > bound
        case Operator.GTE:
            return column >= bound
        case Operator.LT:
            return column < bound
    return column <= bound


def _family(value: Scalar) -> type:
    if isinstance(value, bool):
        return bool
    return str if isinstance(value, str) else float


def _sqlite_leaf(comparison: Comparison, column: ColumnElement[Any]) -> ColumnElement[bool]:
    path = "$" + "".join(f'."{key}"' for key in comparison.field.path)
    kind = func.coalesce(func.json_type(column, path), "null")
    value: Any = comparison.value
    match comparison.operator:
        case Operator.EXISTS:
            return kind != "null"
        case Operator.EQ | Operator.IN:
            return and_(kind != "object", any_element(column, path, as_tuple(value)))
        case Operator.CONTAINS:
            return _sqlite_contains(column, path, kind, value)
    type_ = Text() if isinstance(value, str) else Double()
    stored = type_coerce(func.json_extract(column, path), type_)
    return and_(
        kind.in_(_SQLITE_TYPES[_family(value)]),
        ordered(comparison.operator, stored, literal(value, type_)),
    )


def _sqlite_contains(
    column: ColumnElement[Any], path: str, kind: ColumnElement[Any], value: Scalar
) -> ColumnElement[bool]:
    in_list = and_(kind == "array", any_element(column, path, (value,)))
    if not isinstance(value, str):
        return in_list
    in_text = func.instr(func.json_extract(column, path), value) > 0
    return or_(in_list, and_(kind == "text", in_text))


def any_element(
    column: ColumnElement[Any], path: str, values: tuple[Scalar, ...]
) -> ColumnElement[bool]:
    """SQLite: whether the list at ``path``, or the single value there, holds any of ``values``."""
    element = func.json_each(column, path).table_valued("value", "type")
    tests = [_element_is(element.c.value, element.c.type, value) for value in values]
    return exists(select(literal_column("1")).select_from(element).where(or_(false(), *tests)))


def _element_is(
    stored: ColumnElement[Any], kind: ColumnElement[Any], value: Scalar
) -> ColumnElement[bool]:
    if isinstance(value, bool):
        return kind == ("true" if value else "false")
    type_ = Text() if isinstance(value, str) else Double()
    return and_(
        kind.in_(_SQLITE_TYPES[_family(value)]), type_coerce(stored, type_) == literal(value, type_)
    )


def jsonb(value: ColumnElement[Any] | str) -> ColumnElement[Any]:
    """PostgreSQL: a JSON column, or a JSON text as a parameter, with the operators of jsonb."""
    return cast(literal(value, Text()) if isinstance(value, str) else value, JSONB)


def _postgres_leaf(comparison: Comparison, column: ColumnElement[Any]) -> ColumnElement[bool]:
    stored = jsonb(column)
    for key in comparison.field.path:
        stored = type_coerce(stored.op("->")(literal(key, Text())), JSONB)
    kind = func.coalesce(func.jsonb_typeof(stored), "null")
    value: Any = comparison.value
    match comparison.operator:
        case Operator.EXISTS:
            return kind != "null"
        case Operator.EQ | Operator.IN:
            held = [stored.op("@>")(jsonb(json.dumps(one))) for one in as_tuple(value)]
            return and_(kind != "null", or_(false(), *held))
        case Operator.CONTAINS:
            return _postgres_contains(stored, kind, value)
    return _postgres_ordered(comparison.operator, stored, kind, value)


def _postgres_contains(
    stored: ColumnElement[Any], kind: ColumnElement[Any], value: Scalar
) -> ColumnElement[bool]:
    in_list = and_(kind == "array", stored.op("@>")(jsonb(json.dumps(value))))
    if not isinstance(value, str):
        return in_list
    return or_(in_list, and_(kind == "string", func.strpos(_plain_text(stored), value) > 0))


def _plain_text(stored: ColumnElement[Any]) -> ColumnElement[Any]:
    return type_coerce(stored.op("#>>")(literal_column("'{}'::text[]")), Text())


def _postgres_ordered(
    operator: Operator, stored: ColumnElement[Any], kind: ColumnElement[Any], value: Scalar
) -> ColumnElement[bool]:
    wanted = "string" if isinstance(value, str) else "number"
    # CASE, not AND: PostgreSQL may evaluate the cast first and fail on text.
    plain = case((kind == wanted, _plain_text(stored)))
    comparable: ColumnElement[Any] = (
        collate(plain, "C") if isinstance(value, str) else cast(plain, Double())
    )
    bound = literal(value, Text() if isinstance(value, str) else Double())
    return and_(kind == wanted, func.coalesce(ordered(operator, comparable, bound), false()))
