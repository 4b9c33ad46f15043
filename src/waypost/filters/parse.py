"""From a caller's dict to a typed condition, with every mistake named.

    {"kind": "decision", "tags": ["api", "auth"], "importance": {"$gte": 0.7}}

A plain value is equality, a list is membership (for a list field: any of them),
a dict holds operators. ``None`` means "missing". Keys beside each other must all
hold. ``$and`` and ``$or`` take lists of filters, ``$not`` one filter, or the
operators of one field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from waypost.exceptions import InvalidInput, UnknownOperator
from waypost.filters.conditions import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Negation,
    Operator,
    Order,
    Query,
)
from waypost.filters.fields import Field, FieldTable, FieldType, did_you_mean
from waypost.filters.values import check_limit, check_scalar, check_scalars

_DEEPEST = 20
_LOGICAL = ("$and", "$not", "$or")
_ORDERED = {"$gt": Operator.GT, "$gte": Operator.GTE, "$lt": Operator.LT, "$lte": Operator.LTE}
_UNORDERED_TYPES = (FieldType.BOOL, FieldType.TEXTS)


def parse_query(
    where: Mapping[str, Any] | None,
    fields: FieldTable,
    *,
    order_by: str = "timestamp",
    limit: int = 100,
) -> Query:
    """Parse a whole query: condition, order and limit."""
    return Query(
        parse_where(where or {}, fields), parse_order(order_by, fields), check_limit(limit)
    )


def parse_order(order_by: str, fields: FieldTable) -> Order:
    """``"timestamp"`` is newest (greatest) first; ``"-timestamp"`` reverses it."""
    name = order_by.removeprefix("-")
    field = fields.find(name)
    if field.type in (FieldType.TEXTS, FieldType.JSON):
        raise InvalidInput(f"cannot order by {name!r}: it is a {field.type}, not one plain value")
    return Order(field, fields.identity, ascending=order_by.startswith("-"))


def parse_where(where: Mapping[str, Any], fields: FieldTable) -> Condition:
    """Parse and check a filter dict. An empty one matches everything."""
    return _parse_filter(where, fields, 0)


def _parse_filter(where: Any, fields: FieldTable, depth: int) -> Condition:
    if not isinstance(where, Mapping):
        raise InvalidInput(f"a filter is a dict of field to value, not {where!r}")
    if depth > _DEEPEST:
        raise InvalidInput(f"the filter is nested more than {_DEEPEST} levels deep")
    return _all_of([_parse_entry(key, value, fields, depth) for key, value in where.items()])


def _all_of(parts: list[Condition]) -> Condition:
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _parse_entry(key: Any, value: Any, fields: FieldTable, depth: int) -> Condition:
    if not isinstance(key, str):
        raise InvalidInput(f"a field name is text, not {key!r}")
    if key == "$and":
        return AllOf(_parse_branches(key, value, fields, depth))
    if key == "$or":
        return AnyOf(_parse_branches(key, value, fields, depth))
    if key == "$not":
        return Negation(_parse_filter(value, fields, depth + 1))
    if key.startswith("$"):
        raise _unknown_operator(key, _LOGICAL, "beside field names")
    return _parse_field(fields.find(key), value, depth)


def _parse_branches(key: str, value: Any, fields: FieldTable, depth: int) -> tuple[Condition, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise InvalidInput(f"{key} takes a list of at least one filter, not {value!r}")
    return tuple(_parse_filter(part, fields, depth + 1) for part in value)


def _parse_field(field: Field, value: Any, depth: int) -> Condition:
    if isinstance(value, Mapping):
        return _parse_operators(field, value, depth)
    if isinstance(value, list | tuple | set | frozenset):
        return _is_in(field, value)
    return _equals(field, value)


def _parse_operators(field: Field, operators: Mapping[Any, Any], depth: int) -> Condition:
    if not operators:
        raise InvalidInput(f"{field.label}: an empty dict; give an operator such as $gte")
    if depth > _DEEPEST:
        raise InvalidInput(f"the filter is nested more than {_DEEPEST} levels deep")
    return _all_of([_parse_operator(field, key, value, depth) for key, value in operators.items()])


def _parse_operator(field: Field, name: Any, value: Any, depth: int) -> Condition:
    if name in _ORDERED:
        return _ordered(field, _ORDERED[name], value)
    if name == "$not":
        return Negation(_parse_field(field, value, depth + 1))
    parse = _FIELD_OPERATORS.get(name)
    if parse is None:
        raise _unknown_operator(name, FIELD_OPERATORS, f"for the field {field.label!r}")
    return parse(field, value)


def _ordered(field: Field, operator: Operator, value: Any) -> Condition:
    if field.type in _UNORDERED_TYPES or field.choices or isinstance(value, bool):
        raise InvalidInput(f"{field.label} ({field.type}) has no order; {operator} cannot be used")
    return Comparison(field, operator, check_scalar(field, value))


def _equals(field: Field, value: Any) -> Condition:
    if value is None:
        return Negation(_exists(field, True))
    if isinstance(value, list | tuple):
        raise InvalidInput(f"{field.label}: $eq and $ne take one value; use $in for a list")
    return Comparison(field, Operator.EQ, check_scalar(field, value))


def _is_in(field: Field, value: Any) -> Condition:
    return Comparison(field, Operator.IN, check_scalars(field, value))


def _contains(field: Field, value: Any) -> Condition:
    if field.choices or field.type not in (FieldType.TEXT, FieldType.TEXTS, FieldType.JSON):
        raise InvalidInput(f"{field.label} ({field.type}) cannot contain anything; use $eq")
    wanted = value if isinstance(value, list | tuple) else [value]
    if not wanted or "" in wanted:
        raise InvalidInput(f"{field.label}: $contains needs some text to look for")
    return _all_of([Comparison(field, Operator.CONTAINS, check_scalar(field, v)) for v in wanted])


def _exists(field: Field, value: Any) -> Condition:
    if not isinstance(value, bool):
        raise InvalidInput(f"{field.label}: $exists takes True or False, not {value!r}")
    present = Comparison(field, Operator.EXISTS, True)
    return present if value else Negation(present)


_FIELD_OPERATORS: dict[Any, Callable[[Field, Any], Condition]] = {
    "$eq": _equals,
    "$ne": lambda field, value: Negation(_equals(field, value)),
    "$in": _is_in,
    "$nin": lambda field, value: Negation(_is_in(field, value)),
    "$contains": _contains,
    "$exists": _exists,
}
FIELD_OPERATORS = tuple(sorted([*_FIELD_OPERATORS, *_ORDERED, "$not"]))


def _unknown_operator(name: Any, known: tuple[str, ...], where: str) -> UnknownOperator:
    return UnknownOperator(
        f"there is no operator {name!r} {where}{did_you_mean(str(name), known)}; "
        f"known operators: {', '.join(known)}",
        operator=str(name),
        known=list(known),
    )
