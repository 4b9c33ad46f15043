"""The filter language: one small query, three ways to run it with the same answer.

A caller's dict is parsed against a table of fields into a typed condition
(``parse``), which is then evaluated on objects in memory (``evaluate``) or
turned into a SQL expression for SQLite or PostgreSQL (``sql``).

Every condition is two-valued. A missing value matches no comparison, so
``$ne``, ``$nin`` and ``$not`` do match it. Text compares by code point and
case counts. What cannot be understood is an error, never a silent non-match.
"""

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
from waypost.filters.evaluate import matches, select
from waypost.filters.fields import Field, FieldTable, FieldType
from waypost.filters.parse import parse_order, parse_query, parse_where

__all__ = [
    "AllOf",
    "AnyOf",
    "Comparison",
    "Condition",
    "Field",
    "FieldTable",
    "FieldType",
    "Negation",
    "Operator",
    "Order",
    "Query",
    "matches",
    "parse_order",
    "parse_query",
    "parse_where",
    "select",
]
