"""Items in one SQLite table, filtered by the database itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import (
    Column,
    Float,
    Integer,
    MetaData,
    RowMapping,
    Select,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
)

from waypost.filters import parse_query, parse_where
from waypost.filters.sql import order_clauses, where_clause
from waypost.model.context import ContextItem
from waypost.store.failures import translated
from waypost.store.sqlite import SqliteBackend
from waypost.store.types import Json, Time
from waypost.tiers.backends.protocol import ITEM_FIELDS
from waypost.tiers.backends.similarity import nearest

_metadata = MetaData()
_items = Table(
    "context_items",
    _metadata,
    Column("context_item_id", Text, primary_key=True),
    Column("kind", Text, nullable=False, index=True),
    Column("source", Text),
    Column("timestamp", Time, nullable=False, index=True),
    Column("tags", Json, nullable=False),
    Column("importance", Float, nullable=False),
    Column("token_cost", Integer, nullable=False),
    Column("payload", Json, nullable=False),
    Column("embedding", Json),
)


class SqliteItemBackend:
    def __init__(self, path: str | Path) -> None:
        self._store = SqliteBackend(str(path))
        with translated(self._store.location), self._store.writing.begin() as connection:
            _metadata.create_all(connection)

    def add(self, item: ContextItem) -> None:
        row = {name: getattr(item, name) for name in _items.columns.keys()}  # noqa: SIM118
        row["tags"] = list(item.tags)
        row["embedding"] = None if item.embedding is None else list(item.embedding)
        row["payload"] = item.model_dump(mode="json")["payload"]
        same = _items.c.context_item_id == item.context_item_id
        self._write(delete(_items).where(same), insert(_items).values(row))

    def query(
        self,
        filters: Mapping[str, Any] | None = None,
        limit: int = 100,
        order_by: str = "timestamp",
    ) -> list[ContextItem]:
        query = parse_query(filters, ITEM_FIELDS, order_by=order_by, limit=limit)
        columns = dict(_items.c)
        statement = (
            select(_items)
            .where(where_clause(query.where, columns, "sqlite"))
            .order_by(*order_clauses(query.order, columns, "sqlite"))
            .limit(query.limit)
        )
        return self._read(statement)

    def query_semantic(
        self,
        query_embedding: Sequence[float],
        limit: int = 10,
        filters: Mapping[str, Any] | None = None,
    ) -> list[ContextItem]:
        where = where_clause(parse_where(filters or {}, ITEM_FIELDS), dict(_items.c), "sqlite")
        held = select(_items).where(where, _items.c.embedding.is_not(None))
        return nearest(self._read(held), query_embedding, limit)

    def get(self, item_id: str) -> ContextItem | None:
        found = self._read(select(_items).where(_items.c.context_item_id == item_id))
        return found[0] if found else None

    def delete(self, item_id: str) -> bool:
        return self._write(delete(_items).where(_items.c.context_item_id == item_id)) > 0

    def list_all(self) -> list[ContextItem]:
        return self._read(select(_items).order_by(_items.c.timestamp, _items.c.context_item_id))

    def clear(self) -> None:
        self._write(delete(_items))

    def count(self) -> int:
        with translated(self._store.location), self._store.reading.begin() as connection:
            return connection.execute(select(func.count()).select_from(_items)).scalar_one()

    def close(self) -> None:
        self._store.reading.dispose()
        self._store.writing.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, statement: Select[Any]) -> list[ContextItem]:
        with translated(self._store.location), self._store.reading.begin() as connection:
            return [_item(row) for row in connection.execute(statement).mappings()]

    def _write(self, *statements: Any) -> int:
        """Run the statements in one durable transaction; the rows the last one touched."""
        with translated(self._store.location), self._store.writing.begin() as connection:
            touched = [connection.execute(statement).rowcount for statement in statements]
        return touched[-1]


def _item(row: RowMapping) -> ContextItem:
    return ContextItem(**row)
