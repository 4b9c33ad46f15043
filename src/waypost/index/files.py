"""The index as one file: a cache that saves a rebuild, never the record.

Layout: a magic line, the length of a JSON header, the header, then arrays at offsets the
header names, each with its checksum. A file is written aside and moved into place, so a
reader sees the old one or the new one. It is read by memory map, copy on write. Whatever
is wrong with it (damage, another format, another embedder) gives None: build anew.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

MAGIC = b"waypost-index-2\n"
ALIGNMENT = 64

Arrays: TypeAlias = dict[str, NDArray[Any]]


def write(path: Path, facts: dict[str, Any], arrays: Arrays) -> None:
    """Write facts and arrays to a file, replacing an earlier one at once."""
    body = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = json.dumps({"facts": facts, "arrays": _layout(body)}, sort_keys=True).encode()
    aside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with aside.open("wb") as file:
            file.write(MAGIC + struct.pack("<QI", len(header), zlib.crc32(header)) + header)
            for array in body.values():
                file.write(b"\x00" * (-file.tell() % ALIGNMENT))
                file.write(array.data.cast("B") if array.size else b"")
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def read(path: Path) -> tuple[dict[str, Any], Arrays] | None:
    """Read a file back, or None when it is missing, damaged or of another format."""
    try:
        # A plain view: indexing a memmap costs more than the search it serves.
        memory = np.asarray(np.memmap(path, np.uint8, "c"))
        header, start = _header(memory)
        arrays = _arrays(memory, header["arrays"], start)
        return header["facts"], arrays
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return None


def _layout(arrays: Arrays) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "checksum": zlib.crc32(array.data.cast("B")) if array.size else 0,
        }
        for name, array in arrays.items()
    ]


def _header(memory: NDArray[np.uint8]) -> tuple[dict[str, Any], int]:
    start = len(MAGIC) + struct.calcsize("<QI")
    if memory[: len(MAGIC)].tobytes() != MAGIC:
        raise ValueError("not an index file of this format")
    length, checksum = struct.unpack("<QI", memory[len(MAGIC) : start].tobytes())
    text = memory[start : start + length].tobytes()
    if zlib.crc32(text) != checksum:
        raise ValueError("the header is damaged")
    header: dict[str, Any] = json.loads(text)
    return header, start + length


def _arrays(memory: NDArray[np.uint8], layout: list[dict[str, Any]], start: int) -> Arrays:
    arrays: Arrays = {}
    for entry in layout:
        dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
        start += -start % ALIGNMENT
        end = start + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        raw = memory[start:end]
        if raw.size != end - start or (raw.size and zlib.crc32(raw.data) != entry["checksum"]):
            raise ValueError(f"the array {entry['name']} is damaged")
        arrays[entry["name"]] = raw.view(dtype).reshape(shape)
        start = end
    return arrays


def pack(values: list[Any]) -> NDArray[np.uint8]:
    """Any JSON list as an array of bytes."""
    return np.frombuffer(json.dumps(values).encode(), np.uint8)


def unpack(packed: NDArray[np.uint8]) -> list[Any]:
    values: list[Any] = json.loads(packed.tobytes())
    return values
