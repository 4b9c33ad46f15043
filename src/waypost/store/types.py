"""Column types that mean the same on SQLite and on PostgreSQL.

Times are aware UTC in and out (microseconds since the epoch on SQLite, timestamptz
on PostgreSQL). Vectors are float32 arrays in and out, kept in half precision on
both. JSON is kept as it was written on both, the order of its keys included; jsonb
would sort them, and is what filters cast to.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Integer, LargeBinary, Uuid
from sqlalchemy.types import TypeDecorator, TypeEngine, UserDefinedType

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Json = JSON(none_as_null=True)
RowNumber = BigInteger().with_variant(Integer, "sqlite")
Id = Uuid(as_uuid=False)


def to_microseconds(value: datetime) -> int:
    since = value - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def to_json(value: Any) -> str:
    """JSON text. Most lists and maps of a memory are empty, so those take the short way."""
    if not value and isinstance(value, list | dict):
        return "[]" if isinstance(value, list) else "{}"
    return json.dumps(value)


class Time(TypeDecorator[datetime]):
    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(BigInteger())
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        return to_microseconds(value) if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if dialect.name == "sqlite":
            return EPOCH + timedelta(microseconds=value)
        moment: datetime = value
        return moment.astimezone(UTC)


class HalfVector(UserDefinedType[str]):
    """pgvector's half-precision vector of any dimension, exchanged as text."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "HALFVEC"


class Vector(TypeDecorator[NDArray[np.float32]]):
    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(LargeBinary() if dialect.name == "sqlite" else HalfVector())

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        if value is None:
            return None
        half = np.asarray(value, dtype="<f2")
        if dialect.name == "sqlite":
            return half.tobytes()
        return "[" + ",".join(map(str, half.tolist())) + "]"

    def process_result_value(self, value: Any, dialect: Dialect) -> NDArray[np.float32] | None:
        if value is None:
            return None
        if dialect.name == "sqlite":
            return np.frombuffer(value, dtype="<f2").astype(np.float32)
        return np.array(value[1:-1].split(","), dtype=np.float32)
