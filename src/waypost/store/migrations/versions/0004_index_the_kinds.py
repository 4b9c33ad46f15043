"""Index the kinds of memories, with what a context adds up about them"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_index(
        "ix_memories_agent_kind", "memories", ["agent_id", "kind", "project_id", "token_count"]
    )
