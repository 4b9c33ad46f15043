"""The initial schema"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from waypost.store import postgres_schema, row_security, types

revision = "0001"
down_revision = None


def upgrade() -> None:
    postgres_schema.create_extension(op)
    op.create_table(
        "agents",
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("profile", types.Json, nullable=False),
        sa.Column("created_at", types.Time(), nullable=False),
        sa.Column("updated_at", types.Time(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_agents")),
    )
    op.create_table(
        "archive_entries",
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("memory_id", types.Id, nullable=False),
        sa.Column("object_key", sa.Text(), nullable=False),
        sa.Column("checksum", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=64), nullable=False),
        sa.Column("details", types.Json, nullable=False),
        sa.Column("archived_at", types.Time(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "memory_id", name=op.f("pk_archive_entries")),
    )
    op.create_table(
        "compression_cache",
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("result", types.Json, nullable=False),
        sa.Column("created_at", types.Time(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "digest", name=op.f("pk_compression_cache")),
    )
    op.create_table(
        "compression_metrics",
        sa.Column("metric_id", types.Id, nullable=False),
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("task_id", sa.String(length=255), nullable=True),
        sa.Column("stage_id", types.Id, nullable=True),
        sa.Column("level", sa.String(length=16), nullable=False),
        sa.Column("engine", sa.String(length=32), nullable=False),
        sa.Column("model_used", sa.String(length=255), nullable=False),
        sa.Column("original_tokens", sa.Integer(), nullable=False),
        sa.Column("compressed_tokens", sa.Integer(), nullable=False),
        sa.Column("compression_ratio", sa.Float(), nullable=False),
        sa.Column("information_retention_score", sa.Float(), nullable=False),
        sa.Column("pinned_kept", sa.Float(), nullable=False),
        sa.Column("unsupported", sa.Integer(), nullable=False),
        sa.Column("tokens_in", sa.Integer(), nullable=False),
        sa.Column("tokens_out", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=False),
        sa.Column("reasoning_cost_usd", sa.Float(), nullable=False),
        sa.Column("cached", sa.Boolean(), nullable=False),
        sa.Column("recorded_at", types.Time(), nullable=False),
        sa.PrimaryKeyConstraint("metric_id", name=op.f("pk_compression_metrics")),
    )
    op.create_index(
        "ix_compression_metrics_agent_task",
        "compression_metrics",
        ["agent_id", "task_id"],
        unique=False,
    )
    op.create_table(
        "content_blobs",
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("chunk", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "digest", "chunk", name=op.f("pk_content_blobs")),
    )
    op.create_table(
        "content_items",
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("content_id", sa.String(length=32), nullable=False),
        sa.Column("run_id", sa.String(length=255), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("media_type", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size", types.RowNumber, nullable=False),
        sa.Column("characters", types.RowNumber, nullable=True),
        sa.Column("token_count", types.RowNumber, nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("tags", types.Json, nullable=False),
        sa.Column("related_to", types.Json, nullable=False),
        sa.Column("trust", sa.String(length=16), nullable=False),
        sa.Column("is_error", sa.Boolean(), nullable=False),
        sa.Column("pinned", sa.Boolean(), nullable=False),
        sa.Column("first_shown_step", sa.Integer(), nullable=True),
        sa.Column("metadata", types.Json, nullable=False),
        sa.Column("created_at", types.Time(), nullable=False),
        sa.Column("cleared_at", types.Time(), nullable=True),
        sa.PrimaryKeyConstraint("agent_id", "run_id", "content_id", name=op.f("pk_content_items")),
    )
    op.create_index(
        "ix_content_items_agent_content", "content_items", ["agent_id", "content_id"], unique=False
    )
    op.create_index(
        "ix_content_items_agent_digest", "content_items", ["agent_id", "digest"], unique=False
    )
    op.create_table(
        "embedders",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", types.Time(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_embedders")),
    )
    op.create_table(
        "embedding_cache",
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("embedder", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("vector", types.Vector(), nullable=False),
        sa.Column("created_at", types.Time(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "embedder", "digest", name=op.f("pk_embedding_cache")),
    )
    op.create_table(
        "error_records",
        sa.Column("error_id", types.Id, nullable=False),
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("task_id", sa.String(length=255), nullable=True),
        sa.Column("stage_id", types.Id, nullable=True),
        sa.Column("memory_id", types.Id, nullable=True),
        sa.Column("error_type", sa.String(length=64), nullable=False),
        sa.Column("error_description", sa.Text(), nullable=False),
        sa.Column("context_when_occurred", sa.Text(), nullable=False),
        sa.Column("tool", sa.String(length=255), nullable=True),
        sa.Column("action", sa.Text(), nullable=True),
        sa.Column("recovery_action", sa.Text(), nullable=True),
        sa.Column("resolved", sa.Boolean(), nullable=True),
        sa.Column("error_severity", sa.Float(), nullable=False),
        sa.Column("signature", sa.String(length=255), nullable=False),
        sa.Column("signature_version", sa.Integer(), nullable=False),
        sa.Column("metadata", types.Json, nullable=False),
        sa.Column("recorded_at", types.Time(), nullable=False),
        sa.CheckConstraint(
            "error_severity BETWEEN 0 AND 1", name=op.f("ck_error_records_severity")
        ),
        sa.PrimaryKeyConstraint("error_id", name=op.f("pk_error_records")),
    )
    op.create_index(
        "ix_error_records_agent_recorded",
        "error_records",
        ["agent_id", "recorded_at"],
        unique=False,
    )
    op.create_index(
        "ix_error_records_agent_signature", "error_records", ["agent_id", "signature"], unique=False
    )
    op.create_index(
        "ix_error_records_agent_task", "error_records", ["agent_id", "task_id"], unique=False
    )
    op.create_table(
        "history",
        sa.Column("sequence", types.RowNumber, autoincrement=True, nullable=False),
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("memory_id", types.Id, nullable=False),
        sa.Column("row_id", types.RowNumber, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("operation", sa.String(length=32), nullable=False),
        sa.Column("before", types.Json, nullable=False),
        sa.Column("actor", sa.String(length=255), nullable=True),
        sa.Column("at", types.Time(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_history")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_history_agent_sequence", "history", ["agent_id", "sequence"], unique=False)
    op.create_index("ix_history_memory", "history", ["memory_id"], unique=False)
    op.create_table(
        "idempotency_keys",
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("body_digest", sa.String(length=64), nullable=False),
        sa.Column("memory_ids", types.Json, nullable=False),
        sa.Column("created_at", types.Time(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_table(
        "interventions",
        sa.Column("intervention_id", types.Id, nullable=False),
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("task_id", sa.String(length=255), nullable=False),
        sa.Column("decision_type", sa.String(length=32), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("success", sa.Boolean(), nullable=True),
        sa.Column("metrics_before", types.Json, nullable=False),
        sa.Column("metrics_after", types.Json, nullable=False),
        sa.Column("evidence", types.Json, nullable=False),
        sa.Column("recorded_at", types.Time(), nullable=False),
        sa.PrimaryKeyConstraint("intervention_id", name=op.f("pk_interventions")),
    )
    op.create_index(
        "ix_interventions_agent_task", "interventions", ["agent_id", "task_id"], unique=False
    )
    op.create_table(
        "memories",
        sa.Column("row_id", types.RowNumber, autoincrement=True, nullable=False),
        sa.Column("memory_id", types.Id, nullable=False),
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("tier", sa.String(length=16), nullable=False),
        sa.Column("task_id", sa.String(length=255), nullable=True),
        sa.Column("project_id", sa.String(length=255), nullable=True),
        sa.Column("run_id", sa.String(length=255), nullable=True),
        sa.Column("stage_id", types.Id, nullable=True),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("entities", types.Json, nullable=False),
        sa.Column("facts", types.Json, nullable=False),
        sa.Column("keywords", types.Json, nullable=False),
        sa.Column("tags", types.Json, nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("trust", sa.String(length=16), nullable=False),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("token_count", sa.Integer(), nullable=False),
        sa.Column("timestamp", types.Time(), nullable=False),
        sa.Column("valid_from", types.Time(), nullable=False),
        sa.Column("valid_to", types.Time(), nullable=True),
        sa.Column("superseded_by", types.Id, nullable=True),
        sa.Column("fact_key", sa.String(length=255), nullable=True),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.Column("relevance_score", sa.Float(), nullable=False),
        sa.Column("is_critical", sa.Boolean(), nullable=False),
        sa.Column("criticality_reason", sa.Text(), nullable=True),
        sa.Column("stage_relevance_map", types.Json, nullable=False),
        sa.Column("actions", types.Json, nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("success", sa.Boolean(), nullable=True),
        sa.Column("metadata", types.Json, nullable=False),
        sa.Column("index_terms", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", types.Time(), nullable=False),
        sa.Column("updated_at", types.Time(), nullable=False),
        sa.CheckConstraint("importance BETWEEN 0 AND 1", name=op.f("ck_memories_importance")),
        sa.PrimaryKeyConstraint("row_id", name=op.f("pk_memories")),
        sa.UniqueConstraint("memory_id", name=op.f("uq_memories_memory_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_memories_agent_digest", "memories", ["agent_id", "digest"], unique=False)
    op.create_index(
        "ix_memories_agent_fact_key",
        "memories",
        ["agent_id", "fact_key"],
        unique=False,
        sqlite_where=sa.text("fact_key IS NOT NULL"),
        postgresql_where=sa.text("fact_key IS NOT NULL"),
    )
    op.create_index(
        "ix_memories_agent_project_id",
        "memories",
        ["agent_id", "project_id"],
        unique=False,
        sqlite_where=sa.text("project_id IS NOT NULL"),
        postgresql_where=sa.text("project_id IS NOT NULL"),
    )
    op.create_index(
        "ix_memories_agent_run_id",
        "memories",
        ["agent_id", "run_id"],
        unique=False,
        sqlite_where=sa.text("run_id IS NOT NULL"),
        postgresql_where=sa.text("run_id IS NOT NULL"),
    )
    op.create_index(
        "ix_memories_agent_stage_id",
        "memories",
        ["agent_id", "stage_id"],
        unique=False,
        sqlite_where=sa.text("stage_id IS NOT NULL"),
        postgresql_where=sa.text("stage_id IS NOT NULL"),
    )
    op.create_index(
        "ix_memories_agent_task_id",
        "memories",
        ["agent_id", "task_id"],
        unique=False,
        sqlite_where=sa.text("task_id IS NOT NULL"),
        postgresql_where=sa.text("task_id IS NOT NULL"),
    )
    op.create_index(
        "ix_memories_agent_timestamp", "memories", ["agent_id", "timestamp"], unique=False
    )
    op.create_table(
        "run_events",
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("run_id", sa.String(length=255), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("payload", types.Json, nullable=False),
        sa.Column("at", types.Time(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "run_id", "number", name=op.f("pk_run_events")),
    )
    op.create_table(
        "runs",
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("run_id", sa.String(length=255), nullable=False),
        sa.Column("parent_run_id", sa.String(length=255), nullable=True),
        sa.Column("task_id", sa.String(length=255), nullable=True),
        sa.Column("settings", types.Json, nullable=False),
        sa.Column("started_at", types.Time(), nullable=False),
        sa.Column("ended_at", types.Time(), nullable=True),
        sa.PrimaryKeyConstraint("agent_id", "run_id", name=op.f("pk_runs")),
    )
    op.create_table(
        "stages",
        sa.Column("stage_id", types.Id, nullable=False),
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("task_id", sa.String(length=255), nullable=False),
        sa.Column("stage_type", sa.String(length=16), nullable=False),
        sa.Column("stage_summary", sa.Text(), nullable=False),
        sa.Column("summary_lines", types.Json, nullable=False),
        sa.Column("stage_insights", types.Json, nullable=False),
        sa.Column("critical_items", types.Json, nullable=False),
        sa.Column("raw_memory_refs", types.Json, nullable=False),
        sa.Column("relevance_score", sa.Float(), nullable=False),
        sa.Column("trust", sa.String(length=16), nullable=False),
        sa.Column("original_tokens", sa.Integer(), nullable=False),
        sa.Column("compressed_tokens", sa.Integer(), nullable=False),
        sa.Column("compression_ratio", sa.Float(), nullable=False),
        sa.Column("information_retention", sa.Float(), nullable=False),
        sa.Column("compression_model", sa.String(length=255), nullable=True),
        sa.Column("fallback_reason", sa.Text(), nullable=True),
        sa.Column("created_at", types.Time(), nullable=False),
        sa.Column("updated_at", types.Time(), nullable=False),
        sa.Column("completed_at", types.Time(), nullable=True),
        sa.PrimaryKeyConstraint("stage_id", name=op.f("pk_stages")),
    )
    op.create_index(
        "ix_stages_agent_task", "stages", ["agent_id", "task_id", "created_at"], unique=False
    )
    op.create_index(
        "uq_stages_one_open",
        "stages",
        ["agent_id", "task_id"],
        unique=True,
        sqlite_where=sa.text("completed_at IS NULL"),
        postgresql_where=sa.text("completed_at IS NULL"),
    )
    op.create_table(
        "tasks",
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("task_id", sa.String(length=255), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=True),
        sa.Column("task_goal", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("current_stage_id", types.Id, nullable=True),
        sa.Column("task_progress_summary", sa.Text(), nullable=False),
        sa.Column("summary_lines", types.Json, nullable=False),
        sa.Column("critical_constraints", types.Json, nullable=False),
        sa.Column("performance_metrics", types.Json, nullable=False),
        sa.Column("metadata", types.Json, nullable=False),
        sa.Column("created_at", types.Time(), nullable=False),
        sa.Column("updated_at", types.Time(), nullable=False),
        sa.Column("completed_at", types.Time(), nullable=True),
        sa.PrimaryKeyConstraint("agent_id", "task_id", name=op.f("pk_tasks")),
    )
    op.create_table(
        "accesses",
        sa.Column("row_id", types.RowNumber, nullable=False),
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("access_count", sa.Integer(), nullable=False),
        sa.Column("last_accessed", types.Time(), nullable=False),
        sa.ForeignKeyConstraint(
            ["row_id"], ["memories.row_id"], name=op.f("fk_accesses_row_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("row_id", name=op.f("pk_accesses")),
    )
    op.create_table(
        "embeddings",
        sa.Column("row_id", types.RowNumber, nullable=False),
        sa.Column("embedder", sa.String(length=255), nullable=False),
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("vector", types.Vector(), nullable=False),
        sa.ForeignKeyConstraint(
            ["embedder"], ["embedders.name"], name=op.f("fk_embeddings_embedder")
        ),
        sa.ForeignKeyConstraint(
            ["row_id"], ["memories.row_id"], name=op.f("fk_embeddings_row_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("row_id", "embedder", name=op.f("pk_embeddings")),
    )
    op.create_index(
        "ix_embeddings_agent_embedder", "embeddings", ["agent_id", "embedder"], unique=False
    )
    op.create_table(
        "jobs",
        sa.Column("job_id", types.RowNumber, autoincrement=True, nullable=False),
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("row_id", types.RowNumber, nullable=True),
        sa.Column("payload", types.Json, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("run_after", types.Time(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("created_at", types.Time(), nullable=False),
        sa.ForeignKeyConstraint(
            ["row_id"], ["memories.row_id"], name=op.f("fk_jobs_row_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_jobs")),
        sa.UniqueConstraint(
            "agent_id", "kind", "subject", name=op.f("uq_jobs_agent_id_kind_subject")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_kind_run_after", "jobs", ["kind", "run_after"], unique=False)
    op.create_table(
        "links",
        sa.Column("source_id", types.Id, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("target_id", sa.String(length=255), nullable=False),
        sa.Column("agent_id", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"],
            ["memories.memory_id"],
            name=op.f("fk_links_source_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("source_id", "kind", "target_id", name=op.f("pk_links")),
    )
    op.create_index("ix_links_agent_target", "links", ["agent_id", "target_id"], unique=False)
    postgres_schema.create_term_index(op)
    row_security.enable(
        op,
        (
            "agents",
            "memories",
            "accesses",
            "embeddings",
            "embedding_cache",
            "links",
            "history",
            "idempotency_keys",
            "jobs",
            "tasks",
            "stages",
            "error_records",
            "compression_metrics",
            "compression_cache",
            "interventions",
            "runs",
            "run_events",
            "content_items",
            "content_blobs",
            "archive_entries",
        ),
    )
