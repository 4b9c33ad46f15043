"""Write the migration that brings the database from the last revision to the tables.

    python scripts/make_migration.py 0002 "Add a table for …"

With the revision 0001 the initial migration is written anew (allowed only before
the first release). The result is a draft: read it, then run the migration tests.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from alembic.autogenerate import produce_migrations, render_python_code
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from waypost.store import migrate, tables, types

HEADER = '''"""{message}"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from waypost.store import postgres_schema, row_security, types

revision = {revision!r}
down_revision = {previous!r}


def upgrade() -> None:
{body}
'''


def render_item(kind: str, item: Any, _: Any) -> Any:
    if kind != "type":
        return False
    if item is types.Json:
        return "types.Json"
    if item is types.RowNumber:
        return "types.RowNumber"
    if item is types.Id:
        return "types.Id"
    if isinstance(item, types.Time | types.Vector):
        return f"types.{type(item).__name__}()"
    return False


def render(revision: str) -> str:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        if revision != "0001":
            migrate.upgrade(connection)
        context = MigrationContext.configure(connection, opts={"target_metadata": tables.metadata})
        script = produce_migrations(context, tables.metadata)
        assert script.upgrade_ops is not None
        code = render_python_code(script.upgrade_ops, render_item=render_item)
        return "\n".join(line for line in code.splitlines() if "# ###" not in line)


def main(revision: str, message: str) -> None:
    body = render(revision)
    if revision == "0001":
        body = "postgres_schema.create_extension(op)\n    " + body.lstrip()
        body += "\n    postgres_schema.create_term_index(op)"
        body += "\n    row_security.enable(op, " + repr(tables.AGENT_TABLES) + ")"
    previous = None if revision == "0001" else f"{int(revision) - 1:04d}"
    text = HEADER.format(
        message=message, revision=revision, previous=previous, body="    " + body.lstrip()
    )
    name = "initial" if revision == "0001" else "_".join(message.lower().split()[:4])
    path = migrate.FOLDER / "versions" / f"{revision}_{name}.py"
    Path(path).write_text(text)
    print(path.name)


if __name__ == "__main__":
    main(*sys.argv[1:3])
