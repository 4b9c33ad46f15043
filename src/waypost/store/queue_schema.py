"""procrastinate's tables on PostgreSQL, and the triggers that hand our jobs to it.

They live in a schema of their own, which the roles of transactions cannot enter. A
new row of ``jobs`` is handed over by a trigger in the very transaction that writes
it, so a job exists exactly when its row does. What is handed over is the row's
number and nothing else.

procrastinate brings its schema and its later changes as SQL files. Which of them a
database has is noted beside them, and the missing ones are run when it is opened.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from sqlalchemy import Connection, Engine, text

from waypost.exceptions import MissingExtra

SCHEMA = "waypost_queue"
QUEUE = "waypost"
EMBED_TASK = "embed"
JOB_TASK = "job"

_DEFER = "procrastinate_defer_jobs_v1(ARRAY[ROW({})::procrastinate_job_to_defer_v1])"
_EMBED = _DEFER.format(f"'{QUEUE}', '{EMBED_TASK}', 0, NULL, 'embed', '{{}}'::jsonb, NULL")
_JOB = _DEFER.format(
    f"'{QUEUE}', '{JOB_TASK}', 0, NULL, 'job:' || NEW.job_id, "
    "jsonb_build_object('number', NEW.job_id), NULL"
)
_FUNCTION = """
CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$ BEGIN {body} RETURN NULL; END $$
"""


def create_triggers(op: Any) -> None:
    """Hand over vectors that wait once per statement, other jobs each; nothing on SQLite."""
    if op.get_bind().dialect.name != "postgresql":
        return
    # One embedding job that waits is enough, whoever asked for it first.
    embed = (
        "IF EXISTS (SELECT FROM added WHERE kind = 'embed') THEN "
        f"BEGIN PERFORM {_EMBED}; EXCEPTION WHEN unique_violation THEN NULL; END; END IF;"
    )
    op.execute(_FUNCTION.format(name="waypost_hand_over_vectors", schema=SCHEMA, body=embed))
    op.execute(
        "CREATE TRIGGER hand_over_vectors AFTER INSERT ON jobs REFERENCING NEW TABLE AS added "
        "FOR EACH STATEMENT EXECUTE FUNCTION waypost_hand_over_vectors()"
    )
    body = f"PERFORM {_JOB};"
    op.execute(_FUNCTION.format(name="waypost_hand_over_job", schema=SCHEMA, body=body))
    op.execute(
        "CREATE TRIGGER hand_over_job AFTER INSERT ON jobs FOR EACH ROW "
        "WHEN (NEW.kind <> 'embed') EXECUTE FUNCTION waypost_hand_over_job()"
    )


def prepare(engine: Engine) -> None:
    """Bring procrastinate's own schema up to date, once, also when several processes open it."""
    files = migrations()
    with engine.begin() as connection:
        if applied(connection) >= files:
            return
        connection.execute(text("SELECT pg_advisory_xact_lock(7120418)"))
        present = applied(connection)
        missing = sorted(files - present)
        if not missing:
            return
        connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
        connection.execute(text(f"SET LOCAL search_path = {SCHEMA}"))
        if present:
            for name in missing:
                _run(connection, _sql("migrations", name))
        else:
            connection.execute(text(f"CREATE TABLE {SCHEMA}.applied (name text PRIMARY KEY)"))
            _run(connection, _sql("schema.sql"))
        _note(connection, missing)


def applied(connection: Connection) -> set[str]:
    """The names of the files that a database has; none when it has never had any."""
    # Not by to_regclass: it may answer from before another process made the table.
    there = text("SELECT FROM pg_tables WHERE schemaname = :schema AND tablename = 'applied'")
    if connection.execute(there, {"schema": SCHEMA}).first() is None:
        return set()
    return set(connection.execute(text(f"SELECT name FROM {SCHEMA}.applied")).scalars())


def migrations() -> set[str]:
    """The names of procrastinate's changes to its schema; the schema itself has them all."""
    try:
        folder = resources.files("procrastinate.sql") / "migrations"
    except ModuleNotFoundError as error:
        raise MissingExtra("PostgreSQL needs an extra: pip install 'waypost[postgres]'") from error
    return {file.name for file in folder.iterdir() if file.name.endswith(".sql")}


def _sql(*path: str) -> str:
    return resources.files("procrastinate.sql").joinpath(*path).read_text(encoding="utf-8")


def _note(connection: Connection, names: list[str]) -> None:
    statement = text(f"INSERT INTO {SCHEMA}.applied (name) VALUES (:name)")
    connection.execute(statement, [{"name": name} for name in names])


def _run(connection: Connection, script: str) -> None:
    """Run a file of statements as it is, percent signs included."""
    cursor = connection.connection.cursor()
    try:
        cursor.execute(script)
    finally:
        cursor.close()
