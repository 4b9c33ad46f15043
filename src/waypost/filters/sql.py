"""Conditions as SQL expressions, with the answers of ``evaluate`` on both databases.

Every leaf is guarded so that it is true or false and never NULL; that is what
keeps negation right. Lists and open objects are JSON columns: read with
json_each and json_type on SQLite, with jsonb operators on PostgreSQL. Text on
PostgreSQL compares under the "C" collation, which is code-point order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Double, and_, collate, false, func, literal, not_, or_, true

from waypost.filters import sql_json
from waypost.filters.conditions import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Negation,
    Operator,
    Order,
)
from waypost.filters.fields import Field, FieldType

Columns = Mapping[str, ColumnElement[Any]]


def where_clause(condition: Condition, columns: Columns, dialect: str) -> ColumnElement[bool]:
    """Translate a condition; ``columns`` maps field names to columns, ``dialect`` names one."""
    if isinstance(condition, AllOf):
        return and_(true(), *(where_clause(part, columns, dialect) for part in condition.parts))
    if isinstance(condition, AnyOf):
        return or_(false(), *(where_clause(part, columns, dialect) for part in condition.parts))
    if isinstance(condition, Negation):
        return not_(where_clause(condition.part, columns, dialect))
    return _leaf(condition, columns[condition.field.name], dialect)


def order_clauses(order: Order, columns: Columns, dialect: str) -> list[ColumnElement[Any]]:
    """Missing values last, then the field, then the identity, as ``evaluate.sort`` does."""
    clauses: list[ColumnElement[Any]] = [columns[order.field.name].is_(None)]
    for field in (order.field, order.identity):
        column = _comparable(field, columns[field.name], dialect)
        clauses.append(column.asc() if order.ascending else column.desc())
    return clauses


def _comparable(field: Field, column: ColumnElement[Any], dialect: str) -> ColumnElement[Any]:
    if field.type is FieldType.TEXT and dialect == "postgresql":
        return collate(column, "C")
    return column


def _leaf(comparison: Comparison, column: ColumnElement[Any], dialect: str) -> ColumnElement[bool]:
    if comparison.field.type is FieldType.TEXTS:
        return _texts_leaf(comparison, column, dialect)
    if comparison.field.type is FieldType.JSON:
        return sql_json.leaf(comparison, column, dialect)
    present = column.is_not(None)
    if comparison.operator is Operator.EXISTS:
        return present
    return and_(present, _plain(comparison, column, dialect))


def _plain(comparison: Comparison, column: ColumnElement[Any], dialect: str) -> ColumnElement[bool]:
    value: Any = comparison.value
    # An integer column is compared as a number: 0.5 and 2**40 are fair questions to ask of it.
    type_ = Double() if comparison.field.type is FieldType.NUMBER else column.type
    match comparison.operator:
        case Operator.EQ:
            return column == literal(value, type_)
        case Operator.IN:
            return column.in_([literal(one, type_) for one in value])
        case Operator.CONTAINS:
            position = func.strpos if dialect == "postgresql" else func.instr
            return position(column, value) > 0
    column = _comparable(comparison.field, column, dialect)
    return sql_json.ordered(comparison.operator, column, literal(value, type_))


def _texts_leaf(
    comparison: Comparison, column: ColumnElement[Any], dialect: str
) -> ColumnElement[bool]:
    if dialect == "postgresql":
        return _texts_postgres(comparison, column)
    if comparison.operator is Operator.EXISTS:
        return func.coalesce(func.json_array_length(column), 0) > 0
    return sql_json.any_element(column, "$", sql_json.as_tuple(comparison.value))


def _texts_postgres(comparison: Comparison, column: ColumnElement[Any]) -> ColumnElement[bool]:
    present = func.coalesce(func.json_array_length(column), 0) > 0
    if comparison.operator is Operator.EXISTS:
        return present
    wanted = [json.dumps(value) for value in sql_json.as_tuple(comparison.value)]
    elements = [sql_json.jsonb(column).op("@>")(sql_json.jsonb(text)) for text in wanted]
    return and_(present, or_(false(), *elements))
