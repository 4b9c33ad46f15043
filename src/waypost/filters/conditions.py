"""The parsed form of a filter. Small on purpose: negative operators are negations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from waypost.filters.fields import Field

Scalar = str | float | bool | datetime


class Operator(StrEnum):
    EQ = "$eq"
    GT = "$gt"
    GTE = "$gte"
    LT = "$lt"
    LTE = "$lte"
    IN = "$in"
    CONTAINS = "$contains"
    EXISTS = "$exists"


@dataclass(frozen=True)
class Comparison:
    """One field against one value; IN carries a tuple, EXISTS carries True."""

    field: Field
    operator: Operator
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True)
class AllOf:
    """True when every part is; true when there are none."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class AnyOf:
    """True when at least one part is; false when there are none."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Negation:
    part: Condition


Condition = Comparison | AllOf | AnyOf | Negation


@dataclass(frozen=True)
class Order:
    """Greatest first unless ``ascending``; missing values come last either way.

    Ties are settled by ``identity`` in the same direction, so an order is total.
    """

    field: Field
    identity: Field
    ascending: bool = False


@dataclass(frozen=True)
class Query:
    where: Condition
    order: Order
    limit: int
