"""The production database: PostgreSQL 14 or later with pgvector 0.8 or later.

Each transaction takes a role that row-level security binds (see ``row_security``),
so isolation holds even when the login role is a superuser. Reads are repeatable and
read-only. The writes of one agent queue behind each other on an advisory lock, so
that its change feed is in the order of its commits; agents never wait for others.
"""

from __future__ import annotations

from sqlalchemy import Connection, Engine, create_engine, make_url, text

from waypost.exceptions import InvalidInput, MissingExtra
from waypost.store import postgres_schema
from waypost.store.row_security import AGENT_ROLE, MAINTENANCE_ROLE, SETTING

_BECOME = text(f"SELECT set_config('role', :role, true), set_config('{SETTING}', :agent, true)")
_QUEUE_BEHIND = text("SELECT pg_advisory_xact_lock(hashtextextended(:agent, 1))")


def queue_behind(connection: Connection, agent_id: str) -> None:
    """Wait for the other writers of an agent; holds until the transaction ends."""
    connection.execute(_QUEUE_BEHIND, {"agent": agent_id})


class PostgresBackend:
    dialect = "postgresql"
    one_writer = False

    def __init__(self, url: str, *, connections: int = 20) -> None:
        self.readers = connections
        parsed = make_url(url).set(drivername="postgresql+psycopg")
        if not parsed.database:
            raise InvalidInput("the PostgreSQL URL names no database: postgresql://host/database")
        self.location = f"PostgreSQL at {parsed.host or 'the local socket'}/{parsed.database}"
        self.conninfo = parsed.set(drivername="postgresql").render_as_string(hide_password=False)
        try:
            self.writing: Engine = create_engine(
                parsed,
                pool_size=connections,
                max_overflow=0,
                pool_pre_ping=True,
                connect_args={"connect_timeout": 10},
            )
        except ModuleNotFoundError as error:
            raise MissingExtra(
                "PostgreSQL needs an extra: pip install 'waypost[postgres]'"
            ) from error
        self.reading: Engine = self.writing.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )

    def become(self, connection: Connection, agent: str | None, *, writing: bool) -> None:
        role = MAINTENANCE_ROLE if agent is None else AGENT_ROLE
        connection.execute(_BECOME, {"role": role, "agent": agent or ""})
        if agent is not None and writing:
            queue_behind(connection, agent)

    def prepare(self) -> None:
        from waypost.store import queue_schema
        from waypost.store.migrate import migrate

        migrate(self.writing)
        queue_schema.prepare(self.writing)

    def index_vectors(self, embedder: str, dimension: int, *, alone: bool) -> None:
        # By the login role, which owns the tables; the roles of transactions own nothing.
        with self.writing.begin() as connection:
            postgres_schema.create_vector_index(connection, embedder, dimension)
            if alone:
                postgres_schema.drop_other_vector_indexes(connection, embedder)

    def compact(self) -> bool:
        # Only VACUUM FULL would rewrite the files, and it locks every agent out meanwhile.
        with self.writing.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM"))
        return False
