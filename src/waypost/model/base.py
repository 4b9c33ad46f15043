"""The two shapes of our values: records that are read, and input that is checked."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """An immutable value. Unknown fields are refused, so a typo never passes silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_enum_values=False)
