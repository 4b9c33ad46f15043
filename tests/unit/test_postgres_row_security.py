"""Row-level security: the second wall between agents, tried with raw SQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, text

import waypost
from waypost import Engine
from waypost.exceptions import Forbidden, StorageError
from waypost.store.tables import AGENT_TABLES
from waypost.testing import HashEmbedder


@pytest.fixture
async def engine(postgres_url: str) -> AsyncIterator[Engine]:
    async with waypost.open(postgres_url, embedder=HashEmbedder(32)) as engine:
        for agent in ("planner", "stranger"):
            await engine.agent(agent).add_interaction(
                f"What does the {agent} know?", f"The {agent} port is 8443.", task_id="shared"
            )
        yield engine


def rows(connection: Connection, statement: str) -> list[Any]:
    return list(connection.execute(text(statement)).scalars())


def run(connection: Connection, statement: str) -> None:
    connection.execute(text(statement))


def test_every_table_with_an_agent_has_a_forced_policy(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        forced = {
            row[0]
            for row in connection.execute(
                "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
                "WHERE a.attname = 'agent_id' AND c.relkind = 'r' "
                "AND c.relrowsecurity AND c.relforcerowsecurity"
            )
        }
        policies = connection.execute(
            "SELECT tablename, policyname, qual, with_check FROM pg_policies"
        ).fetchall()
    assert forced == set(AGENT_TABLES)
    own = {table: (qual, check) for table, name, qual, check in policies if name == "own_rows"}
    assert set(own) == set(AGENT_TABLES)
    for qual, check in own.values():
        assert "agent_id" in qual
        assert qual == check


def test_the_roles_of_transactions_own_nothing_and_cannot_log_in(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute(
            "SELECT rolname, rolcanlogin, rolsuper, rolbypassrls FROM pg_roles "
            "WHERE rolname LIKE 'waypost\\_%' ORDER BY rolname"
        ).fetchall()
        owners = {row[0] for row in connection.execute("SELECT tableowner FROM pg_tables "
                                                        "WHERE schemaname = 'public'")}  # fmt: skip
    assert found == [
        ("waypost_agent", False, False, False),
        ("waypost_maintenance", False, False, False),
    ]
    assert owners == {"waypost"}


def test_the_login_role_is_no_superuser(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute(
            "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
    assert row == (False, False)


async def test_a_query_without_a_filter_sees_the_agents_own_rows_only(engine: Engine) -> None:
    for table in ("memories", "history", "embeddings"):
        statement = f"SELECT DISTINCT agent_id FROM {table}"
        assert await engine.database.read(rows, statement, agent="planner") == ["planner"], table


async def test_an_agent_that_is_not_set_sees_nothing(engine: Engine, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("SET LOCAL ROLE waypost_agent")
        for table in AGENT_TABLES:
            count = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert count == (0,), table


async def test_the_identity_of_a_transaction_does_not_outlive_it(engine: Engine) -> None:
    def identity(connection: Connection) -> tuple[Any, ...]:
        return tuple(
            connection.execute(
                text("SELECT current_user, current_setting('waypost.agent_id', true)")
            ).one()
        )

    assert await engine.database.read(identity, agent="planner") == ("waypost_agent", "planner")
    assert await engine.database.read(identity) == ("waypost_maintenance", "")
    with engine.database.backend.writing.connect() as connection:
        user, agent = identity(connection)
    assert (user, agent or "") == ("waypost", "")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memories SET agent_id = 'stranger'",
        "INSERT INTO agents VALUES ('stranger', '{}', now(), now())",
        "INSERT INTO idempotency_keys VALUES ('stranger', 'k', 'd', '[]', now())",
    ],
)
async def test_writing_a_row_of_another_agent_is_refused(engine: Engine, statement: str) -> None:
    with pytest.raises(Forbidden, match="another agent"):
        await engine.database.write(run, statement, agent="planner")


async def test_changing_or_deleting_rows_of_others_does_nothing(engine: Engine) -> None:
    for statement in ("DELETE FROM memories", "UPDATE history SET actor = 'me'"):
        await engine.database.write(run, statement, agent="planner")
    assert await engine.agent("planner").count_memories() == 0
    stranger = engine.agent("stranger")
    (episode, *_) = await stranger.list_memories({"type": "episodic"})
    assert [event.actor for event in await stranger.get_history(episode.memory_id)] == [None]


async def test_an_agent_cannot_change_the_schema_or_step_over_the_policies(engine: Engine) -> None:
    for statement in (
        "DROP TABLE memories",
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
        "CREATE POLICY mine ON memories USING (true)",
        "TRUNCATE memories",
    ):
        with pytest.raises(StorageError):
            await engine.database.write(run, statement, agent="planner")
    assert await engine.agent("stranger").count_memories() > 0


async def test_reads_cannot_write(engine: Engine) -> None:
    with pytest.raises(StorageError):
        await engine.database.read(run, "DELETE FROM memories", agent="planner")


@pytest.mark.parametrize("name", ['it\'s 100% "new"', "openai:a/b:1536", "日本語"])
async def test_an_embedder_may_have_any_name(postgres_url: str, name: str) -> None:
    embedder = HashEmbedder(16)
    embedder.name = name
    async with waypost.open(postgres_url, embedder=embedder) as engine:
        memory = engine.agent("planner")
        await memory.add_memory("the harbour is in Lisbon")
        recall = await memory.retrieve_memories("harbour")
        assert "vector" in {hit.route for hit in recall[0].why.routes}
