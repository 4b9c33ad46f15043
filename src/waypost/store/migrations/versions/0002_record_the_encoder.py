"""Record what encoded a memory, and why the local encoder stood in for a model"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column(
        "memories", sa.Column("encoder", sa.String(255), server_default="local", nullable=False)
    )
    op.add_column("memories", sa.Column("fallback_reason", sa.Text(), nullable=True))
