"""The format of an archived bundle: compressed lines of JSON, checksummed twice.

One line holds one memory with its vectors, links and counts, and has a SHA-256 of
its own; the manifest beside the bundle lists the lines and the SHA-256 of the
compressed whole. Equal memories give equal bytes. Pure.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from waypost.exceptions import StorageCorrupt

FORMAT = "waypost-archive-1"


@dataclass(frozen=True)
class Line:
    """One archived memory: its id, its JSON text and the checksum of that text."""

    memory_id: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def values(self) -> dict[str, Any]:
        values: dict[str, Any] = json.loads(self.text)
        return values


def line_of(values: dict[str, Any]) -> Line:
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return Line(values["memory"]["memory_id"], text)


def pack(lines: Sequence[Line]) -> bytes:
    # mtime=0: the same memories give the same bytes.
    return gzip.compress("".join(line.text + "\n" for line in lines).encode(), 9, mtime=0)


def unpack(data: bytes, name: str) -> dict[str, Line]:
    """The lines by memory id; StorageCorrupt when the bundle is not whole."""
    try:
        texts = gzip.decompress(data).decode().split("\n")[:-1]
        lines = [Line(json.loads(text)["memory"]["memory_id"], text) for text in texts]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise StorageCorrupt(f"the archived bundle {name} is damaged: {error}") from error
    return {line.memory_id: line for line in lines}


def manifest(lines: Sequence[Line], data: bytes, *, agent_id: str, created_at: str) -> bytes:
    document = {
        "format": FORMAT,
        "agent_id": agent_id,
        "created_at": created_at,
        "sha256": digest(data),
        "size": len(data),
        "memories": [{"memory_id": line.memory_id, "sha256": line.checksum} for line in lines],
    }
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def agent_prefix(agent_id: str) -> str:
    """The folder of one agent; its name is a digest, since an agent id may be any text."""
    return f"agents/{hashlib.blake2b(agent_id.encode(), digest_size=16).hexdigest()}/"
