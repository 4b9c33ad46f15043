"""Alembic's entry point. The connection is handed in by ``waypost.store.migrate``."""

from __future__ import annotations

from alembic import context

from waypost.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
)
# The caller owns the transaction: the upgrade commits or rolls back with it.
context.run_migrations()
