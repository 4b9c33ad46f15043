"""The production database: PostgreSQL 14 or later with pgvector 0.8 or later.

Each transaction takes a role that row-level security binds (see ``row_security``),
so isolation holds even when the login role is a superuser.
"""

from __future__ import annotations

from sqlalchemy import Connection, Engine, create_engine, make_url, text

from waypost.exceptions import InvalidInput, MissingExtra
from waypost.store.row_security import AGENT_ROLE, MAINTENANCE_ROLE, SETTING


class PostgresBackend:
    dialect = "postgresql"

    def __init__(self, url: str, *, connections: int = 20) -> None:
        self.readers = connections
        parsed = make_url(url).set(drivername="postgresql+psycopg")
        if not parsed.database:
            raise InvalidInput("the PostgreSQL URL names no database: postgresql://host/database")
        self.location = f"PostgreSQL at {parsed.host or 'the local socket'}/{parsed.database}"
        try:
            self.reading: Engine = create_engine(
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
        self.writing: Engine = self.reading

    def become(self, connection: Connection, agent: str | None) -> None:
        if agent is None:
            connection.exec_driver_sql(f"SET LOCAL ROLE {MAINTENANCE_ROLE}")
            return
        connection.exec_driver_sql(f"SET LOCAL ROLE {AGENT_ROLE}")
        connection.execute(
            text("SELECT set_config(:name, :agent, true)"), {"name": SETTING, "agent": agent}
        )

    def prepare(self) -> None:
        from waypost.store.migrate import migrate

        migrate(self.writing)

    def compact(self) -> None:
        with self.writing.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM"))
