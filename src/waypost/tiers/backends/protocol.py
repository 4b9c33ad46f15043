"""What every light backend does, and the fields its items can be filtered by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from waypost.filters import Field, FieldTable, FieldType
from waypost.model.context import ContextItem

ITEM_FIELDS = FieldTable(
    [
        Field("context_item_id", FieldType.TEXT),
        Field("kind", FieldType.TEXT),
        Field("source", FieldType.TEXT),
        Field("timestamp", FieldType.TIME),
        Field("tags", FieldType.TEXTS),
        Field("importance", FieldType.NUMBER),
        Field("token_cost", FieldType.NUMBER),
        Field("payload", FieldType.JSON),
    ],
    identity="context_item_id",
)


@runtime_checkable
class MemoryBackend(Protocol):
    """A store of items. Calls are atomic and may come from several threads.

    A change is visible to the next call, and in a file-backed store durable, when
    the call returns.
    """

    def add(self, item: ContextItem) -> None:
        """Store an item; one with the same id is replaced."""

    def query(
        self,
        filters: Mapping[str, Any] | None = None,
        limit: int = 100,
        order_by: str = "timestamp",
    ) -> list[ContextItem]:
        """Items that match, greatest first in ``order_by``; a leading ``-`` reverses it."""

    def query_semantic(
        self,
        query_embedding: Sequence[float],
        limit: int = 10,
        filters: Mapping[str, Any] | None = None,
    ) -> list[ContextItem]:
        """Items nearest in direction to a vector, nearest first, ties by id.

        Items without a vector are left out; a vector of another length than the
        stored ones is a DimensionMismatch.
        """

    def get(self, item_id: str) -> ContextItem | None:
        """The item, or None."""

    def delete(self, item_id: str) -> bool:
        """True when there was such an item."""

    def list_all(self) -> list[ContextItem]:
        """Every item, oldest first, ties by id."""

    def clear(self) -> None:
        """Remove every item."""

    def count(self) -> int: ...
