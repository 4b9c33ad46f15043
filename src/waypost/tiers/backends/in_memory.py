"""Items in a dictionary: for tests, drafts and the life of one process."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from waypost.filters import matches, parse_query, parse_where, select
from waypost.model.context import ContextItem
from waypost.tiers.backends.protocol import ITEM_FIELDS
from waypost.tiers.backends.similarity import nearest


class InMemoryBackend:
    def __init__(self) -> None:
        self._items: dict[str, ContextItem] = {}
        self._lock = threading.RLock()

    def add(self, item: ContextItem) -> None:
        with self._lock:
            self._items[item.context_item_id] = item

    def query(
        self,
        filters: Mapping[str, Any] | None = None,
        limit: int = 100,
        order_by: str = "timestamp",
    ) -> list[ContextItem]:
        query = parse_query(filters, ITEM_FIELDS, order_by=order_by, limit=limit)
        return select(self.list_all(), query)

    def query_semantic(
        self,
        query_embedding: Sequence[float],
        limit: int = 10,
        filters: Mapping[str, Any] | None = None,
    ) -> list[ContextItem]:
        where = parse_where(filters or {}, ITEM_FIELDS)
        found = [item for item in self.list_all() if matches(where, item)]
        return nearest(found, query_embedding, limit)

    def get(self, item_id: str) -> ContextItem | None:
        with self._lock:
            return self._items.get(item_id)

    def delete(self, item_id: str) -> bool:
        with self._lock:
            return self._items.pop(item_id, None) is not None

    def list_all(self) -> list[ContextItem]:
        with self._lock:
            items = list(self._items.values())
        return sorted(items, key=lambda item: (item.timestamp, item.context_item_id))

    def clear(self) -> None:
        with self._lock:
            self._items.clear()

    def count(self) -> int:
        with self._lock:
            return len(self._items)
