"""Identifiers: the ones we mint and the ones callers bring.

Minted ids are version-7 UUIDs in canonical text form. They sort by creation
time, also within one millisecond of one process. Caller ids (agent, task,
project, run) are opaque text of 1 to 255 characters.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, StringConstraints

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """Mint a UUIDv7 that is greater than every one minted before by this process."""
    global _last
    with _lock:
        # 48 bits of milliseconds and a 12-bit counter, kept strictly increasing as one number.
        tick = max((time.time_ns() // 1_000_000) << 12, _last + 1)
        _last = tick
    random = int.from_bytes(os.urandom(8)) & ((1 << 62) - 1)
    value = ((tick >> 12) << 80) | (0x7 << 76) | ((tick & 0xFFF) << 64) | (0b10 << 62) | random
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _canonical_uuid(value: str) -> str:
    try:
        return str(UUID(value))
    except ValueError:
        raise ValueError(f"{value!r} is not a UUID") from None


def _storable(value: str) -> str:
    if "\x00" in value:
        raise ValueError("an identifier cannot contain a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("an identifier cannot contain a lone surrogate")
    return value


MintedId = Annotated[str, BeforeValidator(str), AfterValidator(_canonical_uuid)]
"""An id that Waypost made: a UUID in canonical text form."""

CallerId = Annotated[
    str,
    BeforeValidator(lambda v: str(v) if isinstance(v, UUID) else v),
    StringConstraints(min_length=1, max_length=255),
    AfterValidator(_storable),
]
"""An id the caller chose: opaque text of 1 to 255 characters."""
