"""Bringing a database to the current schema, once, also when several processes open it.

The current revision is read with one cheap query; Alembic is imported only when
there is something to do.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from waypost.exceptions import SchemaTooNew, StorageCorrupt

HEAD = "0004"
FOLDER = Path(__file__).with_name("migrations")
OURS = frozenset({"alembic_version", "memories", "embedders"})
"""Tables that every database of Waypost has had since the first revision."""


def migrate(engine: Engine) -> None:
    """Upgrade to HEAD; a newer database is refused and left untouched."""
    with engine.begin() as connection:
        if revision(connection) == HEAD:
            return
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(7120416)"))
        current = revision(connection)
        if current == HEAD:
            return
        if current is not None and current not in known_revisions():
            raise SchemaTooNew(
                f"the database has schema {current}, newer than the {HEAD} this Waypost knows; "
                "upgrade Waypost to open it",
                found=current,
                known=HEAD,
            )
        upgrade(connection)


def revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def known_revisions() -> set[str]:
    return {path.name.split("_")[0] for path in (FOLDER / "versions").glob("[0-9]*.py")}


def upgrade(connection: Connection, target: str = "head") -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def refuse_foreign(connection: Connection) -> None:
    """Refuse a file that has tables, but not ours; another program needs it as it is."""
    found = set(inspect(connection).get_table_names())
    if found and not found >= OURS:
        raise StorageCorrupt(
            f"the file holds other tables ({', '.join(sorted(found)[:3])}, …) and is not a "
            "Waypost database; choose another file"
        )
