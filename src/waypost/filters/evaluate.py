"""Evaluating conditions on objects in memory: the reference for the SQL translation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cmp_to_key
from typing import Any, TypeVar

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
from waypost.filters.fields import Field, FieldType

Item = TypeVar("Item")


def select(items: Iterable[Item], query: Query) -> list[Item]:
    """The items that match, in the query's order, at most its limit."""
    found = [item for item in items if matches(query.where, item)]
    return sort(found, query.order)[: query.limit]


def sort(items: list[Item], order: Order) -> list[Item]:
    def compare(left: Item, right: Item) -> int:
        a, b = read(left, order.field), read(right, order.field)
        if (a is None) != (b is None):
            return 1 if a is None else -1
        if a is None or a == b:
            a, b = read(left, order.identity), read(right, order.identity)
        return int(a > b) - int(a < b) if order.ascending else int(a < b) - int(a > b)

    return sorted(items, key=cmp_to_key(compare))


def matches(condition: Condition, item: Any) -> bool:
    if isinstance(condition, AllOf):
        return all(matches(part, item) for part in condition.parts)
    if isinstance(condition, AnyOf):
        return any(matches(part, item) for part in condition.parts)
    if isinstance(condition, Negation):
        return not matches(condition.part, item)
    return _compare(condition, read(item, condition.field))


def read(item: Any, field: Field) -> Any:
    """The field's value: from a mapping's keys or an object's attributes; None when missing."""
    value = _member(item, field.name)
    for key in field.path:
        value = value.get(key) if isinstance(value, Mapping) else None
    if field.type is FieldType.TEXTS:
        return tuple(value) if value else None
    return value


def _member(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _compare(comparison: Comparison, stored: Any) -> bool:
    if stored is None:
        return False
    value = comparison.value
    match comparison.operator:
        case Operator.EXISTS:
            return True
        case Operator.EQ:
            return any(_same(element, value) for element in _elements(stored))
        case Operator.IN:
            wanted = value if isinstance(value, tuple) else (value,)
            return any(_same(e, one) for e in _elements(stored) for one in wanted)
        case Operator.CONTAINS:
            return _contains(stored, value)
    return _ordered(comparison.operator, stored, value)


def _elements(stored: Any) -> Iterable[Any]:
    return stored if isinstance(stored, list | tuple) else (stored,)


def _same(stored: Any, wanted: Any) -> bool:
    return _family(stored) == _family(wanted) and bool(stored == wanted)


def _family(value: Any) -> type:
    """Values compare only within their family: True is not 1, and "1" is neither."""
    for family in (bool, str, datetime):
        if isinstance(value, family):
            return family
    return float if isinstance(value, int | float) else object


def _contains(stored: Any, wanted: Any) -> bool:
    if isinstance(stored, list | tuple):
        return any(_same(element, wanted) for element in stored)
    return isinstance(stored, str) and isinstance(wanted, str) and wanted in stored


def _ordered(operator: Operator, stored: Any, wanted: Any) -> bool:
    if _family(stored) != _family(wanted):
        return False
    match operator:
        case Operator.GT:
            return bool(stored > wanted)
        case Operator.GTE:
            return bool(stored >= wanted)
        case Operator.LT:
            return bool(stored < wanted)
    return bool(stored <= wanted)
