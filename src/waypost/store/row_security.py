"""Row-level security on PostgreSQL: the second wall between agents.

Two roles without login own nothing and cannot bypass policies. A transaction
becomes ``waypost_agent`` with the agent's id set for that transaction only; an id
that is not set matches no row. ``waypost_maintenance`` sees all agents and is
used for the embedding queue, re-embedding and health checks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

AGENT_ROLE = "waypost_agent"
MAINTENANCE_ROLE = "waypost_maintenance"
SETTING = "waypost.agent_id"


def enable(op: Any, table_names: Iterable[str]) -> None:
    """Create the roles and force a policy on each of the tables; does nothing on SQLite."""
    if op.get_bind().dialect.name != "postgresql":
        return
    for role in (AGENT_ROLE, MAINTENANCE_ROLE):
        op.execute(_create_role(role))
    for table in table_names:
        protect(op, table)
    for role in (AGENT_ROLE, MAINTENANCE_ROLE):
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}")
        op.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}")


def protect(op: Any, table: str) -> None:
    """Force the two policies on one table."""
    own = f"agent_id = current_setting('{SETTING}', true)"
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY own_rows ON {table} TO {AGENT_ROLE} USING ({own}) WITH CHECK ({own})"
    )
    op.execute(
        f"CREATE POLICY all_rows ON {table} TO {MAINTENANCE_ROLE} USING (true) WITH CHECK (true)"
    )


def _create_role(role: str) -> str:
    return f"""
    DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN
            CREATE ROLE {role} NOLOGIN NOBYPASSRLS;
        END IF;
        EXECUTE format('GRANT {role} TO %I', current_user);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
        EXECUTE format('GRANT {role} TO %I', current_user);
    END $$
    """
