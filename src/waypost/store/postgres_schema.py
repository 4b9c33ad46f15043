"""The few parts of the schema that only PostgreSQL has: pgvector and the term index.

What migrations call does nothing on SQLite, where an in-process index takes its
place. Vectors of all embedders share one table, so each embedder has a partial index
of its own dimension, made when it is first used.
"""

from __future__ import annotations

import hashlib
from typing import Any

from sqlalchemy import Connection, text

TERMS = "string_to_array(index_terms, ' ')"
"""The terms of a memory as an array, exactly as this expression is indexed."""


def create_extension(op: Any) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE EXTENSION IF NOT EXISTS vector")


def create_term_index(op: Any) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"CREATE INDEX ix_memories_terms ON memories USING gin (({TERMS}))")


VECTOR_INDEX = "ix_embeddings_nearest_"
MOST_INDEXED_DIMENSIONS = 4000
"""What pgvector's index of half-precision vectors takes; longer ones are compared exactly."""


def create_vector_index(connection: Connection, embedder: str, dimension: int) -> None:
    """Index the vectors of one embedder by nearness, once, whoever comes first."""
    name = _vector_index(embedder)
    if dimension > MOST_INDEXED_DIMENSIONS or _exists(connection, name):
        return
    connection.execute(text("SELECT pg_advisory_xact_lock(7120417)"))
    literal = embedder.replace("'", "''")
    connection.exec_driver_sql(
        f"CREATE INDEX IF NOT EXISTS {name} ON embeddings "
        f"USING hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops) "
        f"WHERE embedder = '{literal}'".replace("%", "%%")
    )


def drop_other_vector_indexes(connection: Connection, embedder: str) -> None:
    statement = text("SELECT indexname FROM pg_indexes WHERE starts_with(indexname, :prefix)")
    names = connection.execute(statement, {"prefix": VECTOR_INDEX}).scalars().all()
    for name in sorted(set(names) - {_vector_index(embedder)}):
        connection.exec_driver_sql(f"DROP INDEX IF EXISTS {name}")


def _vector_index(embedder: str) -> str:
    return VECTOR_INDEX + hashlib.blake2b(embedder.encode(), digest_size=8).hexdigest()


def _exists(connection: Connection, index: str) -> bool:
    found = connection.execute(text("SELECT to_regclass(:name)"), {"name": index}).scalar()
    return found is not None
