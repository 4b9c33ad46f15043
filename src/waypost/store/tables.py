"""The one schema, for SQLite and PostgreSQL alike.

Every table that holds an agent's data has an ``agent_id`` column, and every
query names it; on PostgreSQL a forced row-level policy checks it once more.
``history`` is append-only and doubles as the change feed: its sequence tells
an in-process index what it has not seen yet.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from waypost.store.types import Id, Json, RowNumber, Time, Vector

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _agent_id(primary_key: bool = False) -> Column[str]:
    return Column("agent_id", String(255), nullable=False, primary_key=primary_key)


agents = Table(
    "agents",
    metadata,
    _agent_id(primary_key=True),
    Column("profile", Json, nullable=False),
    Column("created_at", Time, nullable=False),
    Column("updated_at", Time, nullable=False),
)

memories = Table(
    "memories",
    metadata,
    Column("row_id", RowNumber, primary_key=True, autoincrement=True),
    Column("memory_id", Id, nullable=False),
    _agent_id(),
    Column("tier", String(16), nullable=False),
    Column("task_id", String(255)),
    Column("project_id", String(255)),
    Column("run_id", String(255)),
    Column("stage_id", Id),
    Column("type", String(16), nullable=False),
    Column("kind", String(64), nullable=False),
    Column("content", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("entities", Json, nullable=False),
    Column("facts", Json, nullable=False),
    Column("keywords", Json, nullable=False),
    Column("tags", Json, nullable=False),
    Column("source", Text),
    Column("origin", String(16), nullable=False),
    Column("trust", String(16), nullable=False),
    Column("importance", Float, nullable=False),
    Column("token_count", Integer, nullable=False),
    Column("timestamp", Time, nullable=False),
    Column("valid_from", Time, nullable=False),
    Column("valid_to", Time),
    Column("superseded_by", Id),
    Column("fact_key", String(255)),
    Column("digest", String(32), nullable=False),
    Column("relevance_score", Float, nullable=False),
    Column("is_critical", Boolean, nullable=False),
    Column("criticality_reason", Text),
    Column("stage_relevance_map", Json, nullable=False),
    Column("actions", Json, nullable=False),
    Column("outcome", Text),
    Column("success", Boolean),
    Column("metadata", Json, nullable=False),
    Column("index_terms", Text, nullable=False),
    Column("encoder", String(255), nullable=False, server_default="local"),
    Column("fallback_reason", Text),
    Column("version", Integer, nullable=False),
    Column("created_at", Time, nullable=False),
    Column("updated_at", Time, nullable=False),
    UniqueConstraint("memory_id"),
    CheckConstraint("importance BETWEEN 0 AND 1", name="importance"),
    sqlite_autoincrement=True,
)
Index("ix_memories_agent_timestamp", memories.c.agent_id, memories.c.timestamp)
Index("ix_memories_agent_digest", memories.c.agent_id, memories.c.digest)
# Contexts ask for a few kinds and for the tokens of all: the index alone answers the latter.
Index(
    "ix_memories_agent_kind",
    memories.c.agent_id,
    memories.c.kind,
    memories.c.project_id,
    memories.c.token_count,
)
for _column in ("task_id", "project_id", "run_id", "stage_id", "fact_key"):
    _present = text(f"{_column} IS NOT NULL")
    Index(
        f"ix_memories_agent_{_column}",
        memories.c.agent_id,
        memories.c[_column],
        sqlite_where=_present,
        postgresql_where=_present,
    )

accesses = Table(
    "accesses",
    metadata,
    Column(
        "row_id", RowNumber, ForeignKey("memories.row_id", ondelete="CASCADE"), primary_key=True
    ),
    _agent_id(),
    Column("access_count", Integer, nullable=False),
    Column("last_accessed", Time, nullable=False),
)

embedders = Table(
    "embedders",
    metadata,
    Column("name", String(255), primary_key=True),
    Column("dimension", Integer, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("created_at", Time, nullable=False),
)

embeddings = Table(
    "embeddings",
    metadata,
    Column("row_id", RowNumber, ForeignKey("memories.row_id", ondelete="CASCADE"), nullable=False),
    Column("embedder", String(255), ForeignKey("embedders.name"), nullable=False),
    _agent_id(),
    Column("vector", Vector, nullable=False),
    PrimaryKeyConstraint("row_id", "embedder"),
)
Index("ix_embeddings_agent_embedder", embeddings.c.agent_id, embeddings.c.embedder)

embedding_cache = Table(
    "embedding_cache",
    metadata,
    _agent_id(),
    Column("embedder", String(255), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("vector", Vector, nullable=False),
    Column("created_at", Time, nullable=False),
    PrimaryKeyConstraint("agent_id", "embedder", "digest"),
)

links = Table(
    "links",
    metadata,
    Column("source_id", Id, ForeignKey("memories.memory_id", ondelete="CASCADE"), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("target_id", String(255), nullable=False),
    _agent_id(),
    PrimaryKeyConstraint("source_id", "kind", "target_id"),
)
Index("ix_links_agent_target", links.c.agent_id, links.c.target_id)

history = Table(
    "history",
    metadata,
    Column("sequence", RowNumber, primary_key=True, autoincrement=True),
    _agent_id(),
    Column("memory_id", Id, nullable=False),
    Column("row_id", RowNumber, nullable=False),
    Column("version", Integer, nullable=False),
    Column("operation", String(32), nullable=False),
    Column("before", Json, nullable=False),
    Column("actor", String(255)),
    Column("at", Time, nullable=False),
    sqlite_autoincrement=True,
)
Index("ix_history_agent_sequence", history.c.agent_id, history.c.sequence)
Index("ix_history_memory", history.c.memory_id)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    _agent_id(),
    Column("key", String(255), nullable=False),
    Column("body_digest", String(64), nullable=False),
    Column("memory_ids", Json, nullable=False),
    Column("created_at", Time, nullable=False),
    PrimaryKeyConstraint("agent_id", "key"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("job_id", RowNumber, primary_key=True, autoincrement=True),
    _agent_id(),
    Column("kind", String(32), nullable=False),
    Column("subject", String(255), nullable=False),
    Column("row_id", RowNumber, ForeignKey("memories.row_id", ondelete="CASCADE")),
    Column("payload", Json, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("run_after", Time, nullable=False),
    Column("last_error", Text),
    Column("created_at", Time, nullable=False),
    Column("ticket", Id),
    Column("status", String(16), nullable=False, server_default="waiting"),
    Column("result", Json),
    Column("finished_at", Time),
    UniqueConstraint("agent_id", "kind", "subject"),
    # A job's number is never used again: it stands for one state of its subject.
    sqlite_autoincrement=True,
)
Index("ix_jobs_kind_run_after", jobs.c.kind, jobs.c.run_after)
Index("ix_jobs_ticket", jobs.c.ticket, unique=True)

tasks = Table(
    "tasks",
    metadata,
    _agent_id(),
    Column("task_id", String(255), nullable=False),
    Column("project_id", String(255)),
    Column("task_goal", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("outcome", Text),
    Column("current_stage_id", Id),
    Column("task_progress_summary", Text, nullable=False),
    Column("summary_lines", Json, nullable=False),
    Column("critical_constraints", Json, nullable=False),
    Column("performance_metrics", Json, nullable=False),
    Column("metadata", Json, nullable=False),
    Column("created_at", Time, nullable=False),
    Column("updated_at", Time, nullable=False),
    Column("completed_at", Time),
    PrimaryKeyConstraint("agent_id", "task_id"),
)

stages = Table(
    "stages",
    metadata,
    Column("stage_id", Id, primary_key=True),
    _agent_id(),
    Column("task_id", String(255), nullable=False),
    Column("stage_type", String(16), nullable=False),
    Column("stage_summary", Text, nullable=False),
    Column("summary_lines", Json, nullable=False),
    Column("stage_insights", Json, nullable=False),
    Column("critical_items", Json, nullable=False),
    Column("raw_memory_refs", Json, nullable=False),
    Column("relevance_score", Float, nullable=False),
    Column("trust", String(16), nullable=False),
    Column("original_tokens", Integer, nullable=False),
    Column("compressed_tokens", Integer, nullable=False),
    Column("compression_ratio", Float, nullable=False),
    Column("information_retention", Float, nullable=False),
    Column("compression_model", String(255)),
    Column("fallback_reason", Text),
    Column("created_at", Time, nullable=False),
    Column("updated_at", Time, nullable=False),
    Column("completed_at", Time),
)
Index("ix_stages_agent_task", stages.c.agent_id, stages.c.task_id, stages.c.created_at)
Index(
    "uq_stages_one_open",
    stages.c.agent_id,
    stages.c.task_id,
    unique=True,
    sqlite_where=text("completed_at IS NULL"),
    postgresql_where=text("completed_at IS NULL"),
)

error_records = Table(
    "error_records",
    metadata,
    Column("error_id", Id, primary_key=True),
    _agent_id(),
    Column("task_id", String(255)),
    Column("stage_id", Id),
    Column("memory_id", Id),
    Column("error_type", String(64), nullable=False),
    Column("error_description", Text, nullable=False),
    Column("context_when_occurred", Text, nullable=False),
    Column("tool", String(255)),
    Column("action", Text),
    Column("recovery_action", Text),
    Column("resolved", Boolean),
    Column("error_severity", Float, nullable=False),
    Column("signature", String(255), nullable=False),
    Column("signature_version", Integer, nullable=False),
    Column("metadata", Json, nullable=False),
    Column("recorded_at", Time, nullable=False),
    CheckConstraint("error_severity BETWEEN 0 AND 1", name="severity"),
)
Index("ix_error_records_agent_task", error_records.c.agent_id, error_records.c.task_id)
Index("ix_error_records_agent_recorded", error_records.c.agent_id, error_records.c.recorded_at)
Index("ix_error_records_agent_signature", error_records.c.agent_id, error_records.c.signature)

compression_metrics = Table(
    "compression_metrics",
    metadata,
    Column("metric_id", Id, primary_key=True),
    _agent_id(),
    Column("task_id", String(255)),
    Column("stage_id", Id),
    Column("level", String(16), nullable=False),
    Column("engine", String(32), nullable=False),
    Column("model_used", String(255), nullable=False),
    Column("original_tokens", Integer, nullable=False),
    Column("compressed_tokens", Integer, nullable=False),
    Column("compression_ratio", Float, nullable=False),
    Column("information_retention_score", Float, nullable=False),
    Column("pinned_kept", Float, nullable=False),
    Column("unsupported", Integer, nullable=False),
    Column("tokens_in", Integer, nullable=False),
    Column("tokens_out", Integer, nullable=False),
    Column("cost_usd", Float, nullable=False),
    Column("reasoning_cost_usd", Float, nullable=False),
    Column("cached", Boolean, nullable=False),
    Column("recorded_at", Time, nullable=False),
)
Index(
    "ix_compression_metrics_agent_task",
    compression_metrics.c.agent_id,
    compression_metrics.c.task_id,
)

compression_cache = Table(
    "compression_cache",
    metadata,
    _agent_id(),
    Column("digest", String(64), nullable=False),
    Column("result", Json, nullable=False),
    Column("created_at", Time, nullable=False),
    PrimaryKeyConstraint("agent_id", "digest"),
)

interventions = Table(
    "interventions",
    metadata,
    Column("intervention_id", Id, primary_key=True),
    _agent_id(),
    Column("task_id", String(255), nullable=False),
    Column("decision_type", String(32), nullable=False),
    Column("description", Text, nullable=False),
    Column("outcome", Text),
    Column("success", Boolean),
    Column("metrics_before", Json, nullable=False),
    Column("metrics_after", Json, nullable=False),
    Column("evidence", Json, nullable=False),
    Column("recorded_at", Time, nullable=False),
)
Index("ix_interventions_agent_task", interventions.c.agent_id, interventions.c.task_id)

runs = Table(
    "runs",
    metadata,
    _agent_id(),
    Column("run_id", String(255), nullable=False),
    Column("parent_run_id", String(255)),
    Column("task_id", String(255)),
    Column("settings", Json, nullable=False),
    Column("started_at", Time, nullable=False),
    Column("ended_at", Time),
    PrimaryKeyConstraint("agent_id", "run_id"),
)

run_events = Table(
    "run_events",
    metadata,
    _agent_id(),
    Column("run_id", String(255), nullable=False),
    Column("number", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("payload", Json, nullable=False),
    Column("at", Time, nullable=False),
    PrimaryKeyConstraint("agent_id", "run_id", "number"),
)

content_items = Table(
    "content_items",
    metadata,
    _agent_id(),
    Column("content_id", String(32), nullable=False),
    Column("run_id", String(255), nullable=False),
    Column("number", Integer, nullable=False),
    Column("type", String(32), nullable=False),
    Column("source", Text, nullable=False),
    Column("media_type", String(255), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("size", RowNumber, nullable=False),
    Column("characters", RowNumber),
    Column("token_count", RowNumber, nullable=False),
    Column("kind", String(64), nullable=False),
    Column("title", Text),
    Column("tags", Json, nullable=False),
    Column("related_to", Json, nullable=False),
    Column("trust", String(16), nullable=False),
    Column("is_error", Boolean, nullable=False),
    Column("pinned", Boolean, nullable=False),
    Column("first_shown_step", Integer),
    Column("metadata", Json, nullable=False),
    Column("created_at", Time, nullable=False),
    Column("cleared_at", Time),
    PrimaryKeyConstraint("agent_id", "run_id", "content_id"),
)
Index("ix_content_items_agent_content", content_items.c.agent_id, content_items.c.content_id)
Index("ix_content_items_agent_digest", content_items.c.agent_id, content_items.c.digest)

content_blobs = Table(
    "content_blobs",
    metadata,
    _agent_id(),
    Column("digest", String(64), nullable=False),
    Column("chunk", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("agent_id", "digest", "chunk"),
)

archive_entries = Table(
    "archive_entries",
    metadata,
    _agent_id(),
    Column("memory_id", Id, nullable=False),
    Column("object_key", Text, nullable=False),
    Column("checksum", String(64), nullable=False),
    Column("size", Integer, nullable=False),
    Column("reason", String(64), nullable=False),
    Column("details", Json, nullable=False),
    Column("archived_at", Time, nullable=False),
    PrimaryKeyConstraint("agent_id", "memory_id"),
)

SHARED_TABLES = frozenset({"embedders"})
"""Tables without an agent: they describe the installation, not anybody's memories."""

AGENT_TABLES = tuple(name for name in metadata.tables if name not in SHARED_TABLES)
"""Every table that row-level security must cover."""
