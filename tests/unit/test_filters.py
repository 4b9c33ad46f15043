"""The filter language: what it accepts, what it means, and how it refuses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from waypost.exceptions import InvalidInput, UnknownField, UnknownOperator
from waypost.filters import matches, parse_query, parse_where, select
from waypost.filters.memory_fields import MEMORY_FIELDS

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DECISION: dict[str, Any] = {
    "memory_id": "m1",
    "kind": "decision",
    "type": "semantic",
    "tags": ("api", "auth"),
    "importance": 0.7,
    "timestamp": NOON,
    "is_critical": True,
    "content": "Use PostgreSQL for the ledger",
    "metadata": {"owner": "ana", "retries": 3, "labels": ["a", "b"], "flag": True, "no": None},
}


def found(where: dict[str, Any], item: dict[str, Any] = DECISION) -> bool:
    return matches(parse_where(where, MEMORY_FIELDS), item)


@pytest.mark.parametrize(
    "where",
    [
        {},
        {"kind": "decision"},
        {"kind": ["note", "decision"]},
        {"tags": "api"},
        {"tags": ["nothing", "auth"]},
        {"tags": {"$contains": ["api", "auth"]}},
        {"importance": {"$gte": 0.7, "$lt": 0.8}},
        {"importance": {"$not": {"$gt": 0.9}}},
        {"timestamp": {"$gt": "2026-03-01T12:59:00+01:00"}},
        {"content": {"$contains": "ledger"}},
        {"metadata.owner": "ana"},
        {"metadata.retries": {"$in": [1, 3.0]}},
        {"metadata.labels": "b"},
        {"metadata.owner": {"$contains": "na"}},
        {"$or": [{"kind": "note"}, {"is_critical": True}]},
        {"$and": [{"kind": "decision"}, {"$not": {"tags": "web"}}]},
        {"kind": {"$in": ["decision"]}, "type": {"$nin": ["working"]}},
    ],
)
def test_a_filter_finds_what_it_describes(where: dict[str, Any]) -> None:
    assert found(where)


@pytest.mark.parametrize(
    "where",
    [
        {"kind": []},
        {"kind": "Decision"},
        {"tags": {"$contains": ["api", "web"]}},
        {"metadata.retries": "3"},
        {"metadata.flag": 1},
        {"metadata.owner.deeper": "ana"},
        {"content": {"$contains": "LEDGER"}},
    ],
)
def test_a_filter_leaves_out_what_it_does_not_describe(where: dict[str, Any]) -> None:
    assert not found(where)


@pytest.mark.parametrize("field", ["task_id", "metadata.absent", "metadata.no", "entities"])
def test_a_missing_value_matches_no_comparison_but_every_negation(field: str) -> None:
    assert not found({field: "x"})
    assert not found({field: {"$in": ["x"]}})
    assert not found({field: {"$contains": "x"}})
    assert found({field: {"$ne": "x"}})
    assert found({field: {"$nin": ["x"]}})
    assert found({"$not": {field: "x"}})
    assert found({field: None})
    assert found({field: {"$exists": False}})
    assert not found({field: {"$exists": True}})


def test_an_unknown_field_is_an_error_that_suggests_the_right_one() -> None:
    with pytest.raises(UnknownField, match=r"no field 'importence' \(did you mean 'importance'"):
        parse_where({"importence": 1}, MEMORY_FIELDS)


def test_an_unknown_operator_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UnknownOperator, match=r"'\$gte'\?\); known operators: .*\$contains"):
        parse_where({"importance": {"$gtee": 1}}, MEMORY_FIELDS)
    with pytest.raises(UnknownOperator, match=r"\$and, \$not, \$or"):
        parse_where({"$nor": []}, MEMORY_FIELDS)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"importance": "high"}, "compares with a number"),
        ({"importance": True}, "compares with a number"),
        ({"importance": float("nan")}, "finite"),
        ({"kind": 3}, "compares with text"),
        ({"kind": "a\x00"}, "NUL"),
        ({"tier": "galaxy"}, "one of task, project, global"),
        ({"tier": {"$gt": "task"}}, "no order"),
        ({"is_critical": 1}, "True or False"),
        ({"is_critical": {"$gt": True}}, "no order"),
        ({"timestamp": datetime(2026, 1, 1)}, "no time zone"),  # noqa: DTZ001
        ({"timestamp": "2026-01-01"}, "no time zone"),
        ({"timestamp": "soon"}, "soon"),
        ({"timestamp": 5}, "aware datetime"),
        ({"kind": {}}, "empty dict"),
        ({"kind": {"$eq": ["a"]}}, r"use \$in"),
        ({"kind": {"$in": "abc"}}, "take a list"),
        ({"kind": {"$exists": 1}}, "True or False"),
        ({"content": {"$contains": ""}}, "some text"),
        ({"importance": {"$contains": 1}}, "cannot contain"),
        ({"metadata": 1}, "name a key"),
        ({"metadata.a'b": 1}, "letters, digits"),
        ({"metadata.when": datetime(2026, 1, 1, tzinfo=UTC)}, "text, a number"),
        ({"$and": []}, "at least one"),
        ({"$not": 3}, "a filter is a dict"),
        ({3: "x"}, "field name is text"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(where: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_where(where, MEMORY_FIELDS)


def test_a_filter_nested_without_end_is_refused() -> None:
    where: dict[str, Any] = {"kind": "note"}
    for _ in range(50):
        where = {"$not": where}
    with pytest.raises(InvalidInput, match="nested"):
        parse_where(where, MEMORY_FIELDS)


def test_order_is_greatest_first_and_a_minus_reverses_it() -> None:
    items = [
        {"memory_id": "a", "importance": 0.2},
        {"memory_id": "b", "importance": None},
        {"memory_id": "c", "importance": 0.9},
        {"memory_id": "d", "importance": 0.9},
    ]

    def names(order_by: str, limit: int = 10) -> str:
        query = parse_query(None, MEMORY_FIELDS, order_by=order_by, limit=limit)
        return "".join(str(item["memory_id"]) for item in select(items, query))

    assert names("importance") == "dcab"
    assert names("-importance") == "acdb"
    assert names("importance", limit=1) == "d"


def test_an_order_or_limit_that_cannot_be_is_refused() -> None:
    with pytest.raises(UnknownField):
        parse_query({}, MEMORY_FIELDS, order_by="colour")
    with pytest.raises(InvalidInput, match="cannot order by"):
        parse_query({}, MEMORY_FIELDS, order_by="tags")
    with pytest.raises(InvalidInput, match="limit"):
        parse_query({}, MEMORY_FIELDS, limit=-1)
