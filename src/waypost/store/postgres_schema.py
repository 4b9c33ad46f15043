"""The few parts of the schema that only PostgreSQL has: pgvector and the term index.

They are called from migrations and do nothing on SQLite, where an in-process
index takes their place.
"""

from __future__ import annotations

from typing import Any

TERMS = "string_to_array(index_terms, ' ')"
"""The terms of a memory as an array, exactly as this expression is indexed."""


def create_extension(op: Any) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE EXTENSION IF NOT EXISTS vector")


def create_term_index(op: Any) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"CREATE INDEX ix_memories_terms ON memories USING gin (({TERMS}))")
