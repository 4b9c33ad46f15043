"""The servers that the tests start are real ones, and each test has a place of its own."""

from __future__ import annotations

import psycopg
import pytest
import redis
from obstore import get, put
from obstore.exceptions import AlreadyExistsError
from obstore.store import S3Store

from tests.servers import Server, s3_bucket


def test_postgres_is_recent_and_has_pgvector(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.info.server_version >= 140000
        distance = connection.execute("SELECT '[1,0]'::vector <-> '[1,2]'::vector").fetchone()
        assert distance == (2.0,)


def test_the_postgres_role_cannot_bypass_row_level_security(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        query = "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        assert connection.execute(query).fetchone() == (False, False)


@pytest.mark.parametrize("attempt", [1, 2])
def test_every_test_gets_an_empty_postgres_database(postgres_url: str, attempt: int) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE leftover (id int)")


@pytest.mark.parametrize("attempt", [1, 2])
def test_every_test_gets_an_empty_key_space(redis_url: str, attempt: int) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("leftover", attempt)


def test_the_s3_server_refuses_to_overwrite_when_asked_to_create(s3_server: Server) -> None:
    store = s3_bucket(s3_server.port, "conditional")
    put(store, "once", b"first", mode="create")
    with pytest.raises(AlreadyExistsError):
        put(store, "once", b"second", mode="create")
    assert get(store, "once").bytes().to_bytes() == b"first"


def test_the_s3_url_works_with_credentials_from_the_environment(s3_url: str) -> None:
    store = S3Store.from_url(s3_url)
    put(store, "folder/key", b"value")
    assert get(store, "folder/key").bytes().to_bytes() == b"value"
