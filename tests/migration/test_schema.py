"""The tables in the code are the sum of the migrations, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, create_engine, inspect, text

import waypost
from waypost.engine import backend_for
from waypost.exceptions import SchemaTooNew, StorageCorrupt
from waypost.store import migrate
from waypost.store.database import Backend, Database
from waypost.store.postgres_schema import VECTOR_INDEX
from waypost.store.tables import AGENT_TABLES, SHARED_TABLES, metadata
from waypost.store.types import HalfVector


def differences(connection: Connection) -> list[Any]:
    """What a new migration would have to change to make the database like the tables."""
    options = {"compare_type": True, "compare_server_default": True, "include_object": _comparable}
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))


def _comparable(_: Any, name: str | None, kind: str, *__: Any) -> bool:
    # Indexes that only PostgreSQL has are no part of the common tables.
    return kind != "index" or not (name or "").startswith(("ix_memories_terms", VECTOR_INDEX))


class SchemaSuite:
    @pytest.fixture
    def backend(self, url: str) -> Iterator[Backend]:
        backend = backend_for(url)
        yield backend
        backend.reading.dispose()
        backend.writing.dispose()

    def test_the_tables_are_the_sum_of_the_migrations(self, backend: Backend) -> None:
        backend.prepare()
        with backend.writing.begin() as connection:
            if backend.dialect == "postgresql":
                connection.dialect.ischema_names["halfvec"] = HalfVector  # type: ignore[attr-defined]
            assert differences(connection) == []

    def test_a_missing_column_would_be_noticed(self, backend: Backend) -> None:
        backend.prepare()
        with backend.writing.begin() as connection:
            if backend.dialect == "postgresql":
                connection.dialect.ischema_names["halfvec"] = HalfVector  # type: ignore[attr-defined]
            connection.execute(text("ALTER TABLE tasks DROP COLUMN outcome"))
            connection.execute(text("DROP INDEX ix_links_agent_target"))
            assert {step[0] for step in differences(connection)} == {"add_column", "add_index"}

    def test_preparing_again_changes_nothing(self, backend: Backend) -> None:
        backend.prepare()
        before = _schema(backend.writing)
        backend.prepare()
        assert _schema(backend.writing) == before

    def test_an_upgrade_that_fails_half_way_leaves_nothing(self, backend: Backend) -> None:
        with backend.writing.connect() as connection, connection.begin() as transaction:
            migrate.upgrade(connection)
            transaction.rollback()
        assert _schema(backend.writing) == {}

    def test_a_newer_schema_is_refused_and_left_alone(self, backend: Backend) -> None:
        backend.prepare()
        with backend.writing.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(SchemaTooNew, match=r"9999.*upgrade Waypost"):
            backend.prepare()
        with backend.writing.begin() as connection:
            assert migrate.revision(connection) == "9999"

    async def test_an_older_database_is_upgraded_with_its_memories(self, url: str) -> None:
        async with waypost.open(url) as engine:
            stored = await engine.agent("a").add_memory("hello", metadata={"z": 1, "a": 2})
            await engine.database.write(_as_of_the_first_revision)
        async with waypost.open(url) as engine:
            found = await engine.agent("a").get_memory(stored.memory_id)
            assert found == stored.memory
            assert list(found.metadata) == ["z", "a"]

    async def test_many_may_open_a_new_database_at_once(self, url: str) -> None:
        engines = await asyncio.gather(*(waypost.open(url) for _ in range(5)))
        await asyncio.gather(*(engine.agent("a").add_memory("hello") for engine in engines))
        assert await engines[0].agent("a").count_memories() >= 1
        await asyncio.gather(*(engine.close() for engine in engines))


_ADDED_LATER = {
    "memories": ("encoder", "fallback_reason"),
    "jobs": ("ticket", "status", "result", "finished_at"),
}


def _as_of_the_first_revision(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("RESET ROLE"))
        connection.execute(text("DROP TRIGGER hand_over_vectors ON jobs"))
        connection.execute(text("DROP TRIGGER hand_over_job ON jobs"))
    for index in ("ix_jobs_ticket", "ix_memories_agent_kind"):
        connection.execute(text(f"DROP INDEX {index}"))
    for table, columns in _ADDED_LATER.items():
        for column in columns:
            connection.execute(text(f"ALTER TABLE {table} DROP COLUMN {column}"))
    connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))


def _schema(engine: Engine) -> dict[str, list[str]]:
    with engine.connect() as connection:
        found = inspect(connection)
        return {
            table: sorted(column["name"] for column in found.get_columns(table))
            for table in found.get_table_names()
            if table != "embeddings" and table != "embedding_cache"
        }


class TestOnFile(SchemaSuite):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return str(tmp_path / "memory.db")

    async def test_a_database_of_another_program_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "other.db"
        engine = create_engine(f"sqlite:///{path}")
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE invoices (id INTEGER)"))
        engine.dispose()
        before = path.read_bytes()
        database = Database(backend_for(str(path)))
        with pytest.raises(StorageCorrupt, match=r"invoices"):
            await database.prepare()
        await database.close()
        assert path.read_bytes() == before


class TestOnPostgres(SchemaSuite):
    @pytest.fixture
    def url(self, empty_postgres_url: str) -> str:
        return empty_postgres_url


def test_head_is_the_newest_revision() -> None:
    assert max(migrate.known_revisions()) == migrate.HEAD


def test_every_table_belongs_to_an_agent_or_is_named_as_shared() -> None:
    for name, table in metadata.tables.items():
        assert ("agent_id" in table.c) == (name not in SHARED_TABLES), name
    assert set(AGENT_TABLES) | SHARED_TABLES == set(metadata.tables)
