"""Jobs say how far they are; on PostgreSQL a new one is handed to the queue by itself."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from waypost.store import queue_schema, types

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("ticket", types.Id, nullable=True))
    op.add_column(
        "jobs",
        sa.Column("status", sa.String(length=16), server_default="waiting", nullable=False),
    )
    op.add_column("jobs", sa.Column("result", types.Json, nullable=True))
    op.add_column("jobs", sa.Column("finished_at", types.Time(), nullable=True))
    op.create_index("ix_jobs_ticket", "jobs", ["ticket"], unique=True)
    queue_schema.create_triggers(op)
