"""The same filter gives the same answer in memory and as SQL, on random data."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from waypost.filters import parse_query, select
from waypost.filters.memory_fields import MEMORY_FIELDS
from waypost.filters.sql import order_clauses, where_clause
from waypost.store.sqlite import driver
from waypost.store.types import Id, Json, Time

START = datetime(2026, 1, 1, tzinfo=UTC)

items_table = sa.Table(
    "items",
    sa.MetaData(),
    sa.Column("memory_id", Id, primary_key=True),
    sa.Column("kind", sa.Text),
    sa.Column("importance", sa.Float),
    sa.Column("access_count", sa.Integer),
    sa.Column("is_critical", sa.Boolean),
    sa.Column("tags", Json),
    sa.Column("metadata", Json),
    sa.Column("timestamp", Time),
)

words = st.sampled_from(
    ["a", "b", "ab", "B", "é", "", "zz", "10", "1", "true", '"', "%", "_", "日"]
)
some_words = words.filter(bool)
numbers = st.one_of(
    st.integers(-3, 3), st.sampled_from([0.5, -0.0, 1.0, 2.5, 0.1, 9007199254740991])
)
times = st.integers(-2, 2).map(lambda days: START + timedelta(days=days))
scalars = st.one_of(words, numbers, st.booleans())
json_values = st.one_of(
    st.none(),
    scalars,
    st.lists(st.one_of(st.none(), scalars), max_size=3),
    st.dictionaries(st.sampled_from(["x", "0", "é"]), scalars, max_size=2),
    st.lists(st.lists(scalars, max_size=2), max_size=2),
)
rows = st.fixed_dictionaries(
    {
        "kind": st.one_of(st.none(), words),
        "importance": st.one_of(st.none(), numbers.map(float)),
        "access_count": st.integers(-2, 3),
        "is_critical": st.one_of(st.none(), st.booleans()),
        "tags": st.lists(some_words, max_size=3),
        "timestamp": st.one_of(st.none(), times),
        "metadata": st.dictionaries(st.sampled_from(["x", "y", "0", "é"]), json_values, max_size=3),
    }
)


def _comparisons(values: st.SearchStrategy[Any], *, ordered: bool, contains: Any = None) -> Any:
    operators = [
        st.builds(lambda v: v, values),
        st.lists(values, max_size=3),
        st.just(None),
        st.builds(lambda v: {"$exists": v}, st.booleans()),
        st.builds(lambda o, v: {o: v}, st.sampled_from(["$eq", "$ne"]), values),
        st.builds(
            lambda o, v: {o: v}, st.sampled_from(["$in", "$nin"]), st.lists(values, max_size=3)
        ),
    ]
    if ordered:
        sizes = st.sampled_from(["$gt", "$gte", "$lt", "$lte"])
        comparable = values.filter(lambda value: not isinstance(value, bool))
        operators.append(st.builds(lambda o, v: {o: v}, sizes, comparable))
        operators.append(st.builds(lambda o, v: {"$not": {o: v}}, sizes, comparable))
    if contains is not None:
        operators.append(st.builds(lambda v: {"$contains": v}, contains))
    return st.one_of(operators)


paths = st.sampled_from(["metadata.x", "metadata.y", "metadata.0", "metadata.x.0", "metadata.é.x"])
leaves = st.one_of(
    st.builds(lambda v: {"kind": v}, _comparisons(words, ordered=True, contains=some_words)),
    st.builds(lambda v: {"importance": v}, _comparisons(numbers, ordered=True)),
    st.builds(lambda v: {"access_count": v}, _comparisons(numbers, ordered=True)),
    st.builds(lambda v: {"timestamp": v}, _comparisons(times, ordered=True)),
    st.builds(
        lambda v: {"memory_id": v},
        _comparisons(st.integers(0, 6).map(lambda n: str(UUID(int=n))), ordered=True),
    ),
    st.builds(lambda v: {"is_critical": v}, _comparisons(st.booleans(), ordered=False)),
    st.builds(lambda v: {"tags": v}, _comparisons(words, ordered=False, contains=some_words)),
    st.builds(
        lambda p, v: {p: v},
        paths,
        _comparisons(scalars, ordered=True, contains=scalars.filter(lambda v: v != "")),
    ),
)
filters = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda part: {"$not": part}, inner),
    ),
    max_leaves=5,
)
orders = st.sampled_from(
    [
        s + n
        for s in ("", "-")
        for n in ("kind", "importance", "access_count", "is_critical", "timestamp")
    ]
)


@pytest.fixture(scope="module")
def sqlite_engine() -> Iterator[sa.Engine]:
    engine = sa.create_engine("sqlite://", module=driver())
    items_table.metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def postgres_engine(postgres_url: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(postgres_url.replace("postgresql", "postgresql+psycopg", 1))
    items_table.metadata.create_all(engine)
    yield engine
    engine.dispose()


def ids_from_sql(engine: sa.Engine, rows: list[dict[str, Any]], query: Any) -> list[str]:
    columns = dict(items_table.c)
    statement = (
        sa.select(items_table.c.memory_id)
        .where(where_clause(query.where, columns, engine.dialect.name))
        .order_by(*order_clauses(query.order, columns, engine.dialect.name))
        .limit(query.limit)
    )
    with engine.connect() as connection:
        if rows:
            connection.execute(sa.insert(items_table), rows)
        found = list(connection.scalars(statement))
        connection.rollback()
    return found


def queries() -> Any:
    return given(
        rows=st.lists(rows, max_size=6), where=filters, order_by=orders, limit=st.integers(0, 6)
    )


def check_agreement(
    engine: sa.Engine, rows: list[dict[str, Any]], where: dict[str, Any], order_by: str, limit: int
) -> None:
    numbered = [{"memory_id": str(UUID(int=i)), **row} for i, row in enumerate(rows)]
    query = parse_query(where, MEMORY_FIELDS, order_by=order_by, limit=limit)
    expected = [item["memory_id"] for item in select(numbered, query)]
    assert ids_from_sql(engine, numbered, query) == expected


@settings(max_examples=300, deadline=None)
@queries()
def test_sqlite_and_memory_agree(sqlite_engine: sa.Engine, **example: Any) -> None:
    check_agreement(sqlite_engine, **example)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@queries()
def test_postgres_and_memory_agree(postgres_engine: sa.Engine, **example: Any) -> None:
    check_agreement(postgres_engine, **example)


def test_times_compare_as_instants_whatever_their_offset() -> None:
    item = {"memory_id": "m", "timestamp": START}
    for hours in (-5, 0, 9):
        local = (START + timedelta(seconds=1)).astimezone(tz=_offset(hours))
        query = parse_query({"timestamp": {"$lt": local}}, MEMORY_FIELDS)
        assert select([item], query) == [item]


def _offset(hours: int) -> timezone:
    return timezone(timedelta(hours=hours))
