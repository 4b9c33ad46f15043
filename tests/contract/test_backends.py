"""One suite for every light backend: what the protocol promises, each of them keeps."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from waypost.exceptions import (
    DimensionMismatch,
    InvalidInput,
    StorageCorrupt,
    StorageUnavailable,
    UnknownField,
    UnknownOperator,
)
from waypost.model.context import ContextItem
from waypost.tiers.backends import (
    InMemoryBackend,
    JsonFileBackend,
    MemoryBackend,
    SqliteItemBackend,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def item(name: str, **fields: Any) -> ContextItem:
    return ContextItem(
        **{"context_item_id": name, "kind": "note", "timestamp": START, "importance": 0.5} | fields
    )


def names(items: list[ContextItem]) -> str:
    return " ".join(one.context_item_id for one in items)


class BackendContract:
    @pytest.fixture
    @abstractmethod
    def backend(self, tmp_path: Path) -> Iterator[MemoryBackend]:
        """An empty backend."""

    def test_it_is_a_memory_backend(self, backend: MemoryBackend) -> None:
        assert isinstance(backend, MemoryBackend)

    def test_what_was_added_comes_back_equal(self, backend: MemoryBackend) -> None:
        stored = item(
            "a", source="user", tags=("x", "ü"), token_cost=7,
            payload={"text": "hé\n", "n": [1, None]},
            timestamp=START + timedelta(microseconds=1), embedding=(0.5, -1.0),
        )  # fmt: skip
        backend.add(stored)
        assert backend.get("a") == stored
        assert backend.list_all() == [stored]

    def test_what_is_missing_is_none_and_cannot_be_deleted(self, backend: MemoryBackend) -> None:
        assert backend.get("nobody") is None
        assert backend.delete("nobody") is False

    def test_the_same_id_replaces(self, backend: MemoryBackend) -> None:
        backend.add(item("a", kind="old"))
        backend.add(item("a", kind="new"))
        assert backend.count() == 1
        assert backend.query()[0].kind == "new"

    def test_delete_and_clear_take_items_away(self, backend: MemoryBackend) -> None:
        for name in "abc":
            backend.add(item(name))
        assert backend.delete("b") is True
        assert names(backend.list_all()) == "a c"
        backend.clear()
        assert (backend.count(), backend.list_all()) == (0, [])

    def test_all_items_are_listed_oldest_first(self, backend: MemoryBackend) -> None:
        backend.add(item("late", timestamp=START + timedelta(days=1)))
        backend.add(item("b"))
        backend.add(item("a"))
        assert names(backend.list_all()) == "a b late"

    def test_a_query_is_newest_first_and_a_minus_reverses_it(self, backend: MemoryBackend) -> None:
        for day, name in enumerate("abc"):
            backend.add(item(name, timestamp=START + timedelta(days=day), importance=day / 10))
        assert names(backend.query()) == "c b a"
        assert names(backend.query(order_by="-timestamp")) == "a b c"
        assert names(backend.query(order_by="importance", limit=2)) == "c b"

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ({"kind": "code", "tags": ["bug_fix"]}, "a"),
            ({"source": "user", "importance": {"$gte": 0.7}}, "b"),
            ({"payload.lines": {"$gt": 10}}, "a"),
            ({"source": None}, "a"),
            ({"source": {"$ne": "user"}}, "a c"),
            ({"$or": [{"kind": "code"}, {"tags": "docs"}]}, "a c"),
        ],
    )
    def test_filters_find_what_they_describe(
        self, backend: MemoryBackend, filters: dict[str, Any], expected: str
    ) -> None:
        backend.add(item("a", kind="code", tags=("bug_fix", "api"), payload={"lines": 30}))
        backend.add(item("b", source="user", importance=0.9, payload={"lines": "many"}))
        backend.add(item("c", source="tool", importance=0.1, tags=("docs",)))
        assert names(backend.query(filters, order_by="-timestamp")) == expected

    def test_what_is_not_understood_is_an_error(self, backend: MemoryBackend) -> None:
        with pytest.raises(UnknownField, match="importance"):
            backend.query({"importanse": 1})
        with pytest.raises(UnknownOperator):
            backend.query({"importance": {"$above": 1}})
        with pytest.raises(InvalidInput):
            backend.query({"importance": "high"})
        with pytest.raises(UnknownField):
            backend.query(order_by="colour")

    def test_semantic_query_orders_by_direction(self, backend: MemoryBackend) -> None:
        backend.add(item("east", embedding=(10.0, 0.0)))
        backend.add(item("north", embedding=(0.0, 1.0), kind="code"))
        backend.add(item("north_east", embedding=(1.0, 1.0)))
        backend.add(item("nowhere"))
        assert names(backend.query_semantic([1.0, 0.1])) == "east north_east north"
        assert names(backend.query_semantic([1.0, 0.1], limit=1)) == "east"
        assert names(backend.query_semantic([1.0, 0.1], filters={"kind": "code"})) == "north"
        with pytest.raises(DimensionMismatch, match="3 dimensions"):
            backend.query_semantic([1.0, 0.0, 0.0])

    def test_several_threads_may_write_at_once(self, backend: MemoryBackend) -> None:
        def write(worker: int) -> None:
            for number in range(20):
                backend.add(item(f"{worker}-{number}"))

        threads = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert backend.count() == 80


class TestInMemory(BackendContract):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> MemoryBackend:
        return InMemoryBackend()


class TestSqlite(BackendContract):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[MemoryBackend]:
        with SqliteItemBackend(tmp_path / "items.db") as backend:
            yield backend

    def test_items_are_there_after_reopening(self, tmp_path: Path) -> None:
        with SqliteItemBackend(tmp_path / "kept.db") as backend:
            backend.add(item("a"))
        with SqliteItemBackend(tmp_path / "kept.db") as backend:
            assert names(backend.list_all()) == "a"


class TestJsonFile(BackendContract):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[MemoryBackend]:
        with JsonFileBackend(tmp_path / "items.json") as backend:
            yield backend

    def test_items_are_there_after_reopening(self, tmp_path: Path) -> None:
        path = tmp_path / "kept.json"
        with JsonFileBackend(path) as backend:
            backend.add(item("a"))
            backend.add(item("b"))
            backend.delete("a")
        with JsonFileBackend(path) as backend:
            assert names(backend.list_all()) == "b"

    def test_the_snapshot_is_written_at_most_once_per_debounce(self, tmp_path: Path) -> None:
        path, now = tmp_path / "items.json", [0.0]
        with JsonFileBackend(path, debounce=5, timer=lambda: now[0]) as backend:
            before = path.read_bytes()
            for number in range(100):
                backend.add(item(f"n{number}"))
            assert path.read_bytes() == before
            now[0] = 5.0
            backend.add(item("last"))
            assert b'"last"' in path.read_bytes()

    @pytest.mark.parametrize("cut", range(0, 400, 23))
    def test_a_crash_at_any_byte_keeps_every_acknowledged_change(
        self, tmp_path: Path, cut: int
    ) -> None:
        """Copy the files as a crash would leave them, with the journal's last line cut off."""
        path = tmp_path / "items.json"
        with JsonFileBackend(path, debounce=3600) as backend:
            backend.add(item("acknowledged"))
            journal = path.with_name("items.json.journal").read_bytes()
            backend.add(item("in flight"))
            torn = path.with_name("items.json.journal").read_bytes()
            snapshot = path.read_bytes()
        crashed = tmp_path / "crashed.json"
        crashed.write_bytes(snapshot)
        cut_at = min(len(journal) + cut, len(torn) - 1)
        crashed.with_name("crashed.json.journal").write_bytes(torn[:cut_at])
        with JsonFileBackend(crashed) as backend:
            assert names(backend.list_all()) == "acknowledged"

    def test_a_crash_between_snapshot_and_journal_changes_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "items.json"
        with JsonFileBackend(path, debounce=3600) as backend:
            backend.add(item("a"))
            backend.add(item("b"))
            backend.delete("a")
            journal = path.with_name("items.json.journal").read_bytes()
        path.with_name("items.json.journal").write_bytes(journal)
        with JsonFileBackend(path) as backend:
            assert names(backend.list_all()) == "b"

    def test_a_second_opener_is_refused(self, tmp_path: Path) -> None:
        with (
            JsonFileBackend(tmp_path / "items.json"),
            pytest.raises(StorageUnavailable, match="another process"),
        ):
            JsonFileBackend(tmp_path / "items.json")

    @pytest.mark.parametrize("content", ["", "[]", '{"format": "other"}', "{", '"x"'])
    def test_a_file_that_is_not_ours_is_refused_and_left_alone(
        self, tmp_path: Path, content: str
    ) -> None:
        path = tmp_path / "foreign.json"
        path.write_text(content)
        with pytest.raises(StorageCorrupt):
            JsonFileBackend(path)
        assert path.read_text() == content
