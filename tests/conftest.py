"""Fixtures shared by all tests: real servers, one database, key space or bucket per test.

In CI a server that does not start fails the test; on a developer's machine the
test is skipped and says why.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.command_line import CommandLine, command_line
from tests.servers import (
    S3_ACCESS_KEY,
    S3_SECRET_KEY,
    Server,
    Servers,
    ServerUnavailable,
    postgres_admin_url,
)

if TYPE_CHECKING:
    import psycopg

DIRECTORY_VARIABLE = "TEST_SERVERS_OF_WAYPOST"
SERVERS = pytest.StashKey[Servers]()


def pytest_configure(config: pytest.Config) -> None:
    """The process that owns the session makes the directory; xdist's workers inherit it."""
    if not hasattr(config, "workerinput"):
        config.stash[SERVERS] = Servers.for_this_process()
        os.environ[DIRECTORY_VARIABLE] = str(config.stash[SERVERS].directory)


def pytest_unconfigure(config: pytest.Config) -> None:
    if SERVERS in config.stash:
        config.stash[SERVERS].stop()


def server(name: str) -> Server:
    try:
        return Servers(Path(os.environ[DIRECTORY_VARIABLE])).get(name)
    except ServerUnavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI needs a real {name}: {error}", pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def postgres_server() -> Server:
    """PostgreSQL with a role ``waypost`` that owns the tests' databases but is no superuser."""
    import psycopg
    from psycopg.errors import DuplicateObject

    running = server("postgres")
    admin_url = postgres_admin_url(running.port)
    another_worker_was_first = suppress(DuplicateObject)
    with psycopg.connect(admin_url, autocommit=True) as connection, another_worker_was_first:
        connection.execute("CREATE ROLE waypost LOGIN CREATEDB CREATEROLE")
    return running


@pytest.fixture(scope="session")
def postgres_template(postgres_server: Server) -> str:
    """A database with the current schema, made once and copied for each test."""
    import psycopg

    from waypost.store.postgres import PostgresBackend

    name = "waypost_template"
    with psycopg.connect(postgres_admin_url(postgres_server.port), autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(1)")
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
        if known.fetchone() is None:
            url = _create_database(connection, postgres_server.port, name)
            backend = PostgresBackend(url)
            backend.prepare()
            backend.writing.dispose()
    return name


@pytest.fixture
def postgres_url(postgres_server: Server, postgres_template: str) -> Iterator[str]:
    """A database of its own for each test, owned by a role that is no superuser."""
    yield from _temporary_database(postgres_server.port, template=postgres_template)


@pytest.fixture
def empty_postgres_url(postgres_server: Server) -> Iterator[str]:
    """The same, without any table."""
    yield from _temporary_database(postgres_server.port)


def _temporary_database(port: int, *, template: str | None = None) -> Iterator[str]:
    import psycopg

    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgres_admin_url(port), autocommit=True) as connection:
        yield _create_database(connection, port, name, template=template)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _create_database(
    connection: psycopg.Connection[Any], port: int, name: str, *, template: str | None = None
) -> str:
    import psycopg

    source = f" TEMPLATE {template}" if template else ""
    connection.execute(f"CREATE DATABASE {name} OWNER waypost{source}")
    if template is None:
        with psycopg.connect(postgres_admin_url(port, name), autocommit=True) as inside:
            inside.execute("CREATE EXTENSION vector")
    return f"postgresql://waypost@127.0.0.1:{port}/{name}"


@pytest.fixture(scope="session")
def valkey_test_server() -> Server:
    return server("valkey")


@pytest.fixture
def redis_url(valkey_test_server: Server) -> Iterator[str]:
    """A numbered database of its own for each test; it is emptied afterwards."""
    import redis

    address = f"redis://127.0.0.1:{valkey_test_server.port}"
    with redis.Redis.from_url(f"{address}/0") as counter:
        number = counter.incr("next-test-database")
    yield f"{address}/{number}"
    with redis.Redis.from_url(f"{address}/{number}") as client:
        client.flushdb()


@dataclass(frozen=True)
class S3:
    """A bucket of its own for one test, and what a client needs to reach it."""

    url: str
    endpoint: str
    access_key_id: str = S3_ACCESS_KEY
    secret_access_key: str = S3_SECRET_KEY
    region: str = "us-east-1"


@pytest.fixture(scope="session")
def s3_server() -> Server:
    return server("s3")


@pytest.fixture
def s3(s3_server: Server) -> S3:
    """A bucket of its own for each test. The server makes it on the first put."""
    return S3(f"s3://test-{uuid4().hex}", f"http://127.0.0.1:{s3_server.port}")


@pytest.fixture
def s3_url(s3: S3, monkeypatch: pytest.MonkeyPatch) -> str:
    """The bucket's URL, with the credentials in the environment where clients look for them."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.access_key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.secret_access_key)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint)
    monkeypatch.setenv("AWS_REGION", s3.region)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    return s3.url


@pytest.fixture
def waypost(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> CommandLine:
    """The command line, on an empty memory of the test's own."""
    file = tmp_path / "memory.db"
    file.touch()
    return command_line(capsys, monkeypatch, str(file))
