"""Bytes at rest: cut into chunks, compressed, and kept once per agent under their digest.

Content of any size passes through in chunks of a megabyte: :class:`Spool` takes it in, hashing
and compressing as it comes, and holds what exceeds a few megabytes in a temporary file until one
transaction writes it. Reading back is an iterator over chunks.
"""

from __future__ import annotations

import codecs
import hashlib
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from typing import IO

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from waypost.content.material import Material, sampled
from waypost.store.tables import content_blobs

CHUNK_BYTES = 1_000_000
_IN_MEMORY = 4_000_000
_LEVEL = 6
_HEAD_BYTES = 400_000
_TAIL_BYTES = 40_000


class Spool:
    """Content on its way into the store."""

    def __init__(self) -> None:
        self.size = 0
        self._hash = hashlib.sha256()
        self._pending = bytearray()
        self._head = bytearray()
        self._tail = bytearray()
        self._lengths: list[int] = []
        # Closed by close(): the spool outlives the function that fills it.
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self._hash.update(data)
        room = _HEAD_BYTES - len(self._head)
        self._head += data[: max(room, 0)]
        self._tail += data[max(room, 0) :][-_TAIL_BYTES:]
        del self._tail[:-_TAIL_BYTES]
        self._pending += data
        while len(self._pending) >= CHUNK_BYTES:
            self._compress(bytes(self._pending[:CHUNK_BYTES]))
            del self._pending[:CHUNK_BYTES]

    def finish(self) -> None:
        """Take the last, shorter chunk; an empty content has one empty chunk."""
        if self._pending or not self._lengths:
            self._compress(bytes(self._pending))
            self._pending.clear()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def material(self, media_type: str, source: str, *, is_text: bool) -> Material:
        kept = {"media_type": media_type, "source": source}
        return sampled(bytes(self._head), bytes(self._tail), self.size, is_text=is_text, **kept)

    def chunks(self) -> Iterator[bytes]:
        """The compressed chunks, in order."""
        self._file.seek(0)
        for length in self._lengths:
            yield self._file.read(length)

    def close(self) -> None:
        self._file.close()

    def _compress(self, data: bytes) -> None:
        packed = zlib.compress(data, _LEVEL)
        self._lengths.append(len(packed))
        self._file.seek(0, 2)
        self._file.write(packed)


def spooled(data: bytes) -> Spool:
    """A spool of content that is in memory."""
    spool = Spool()
    for start in range(0, len(data), CHUNK_BYTES):
        spool.add(data[start : start + CHUNK_BYTES])
    spool.finish()
    return spool


def put(connection: Connection, agent_id: str, spool: Spool) -> None:
    """Write the chunks, unless the agent has content of this digest already."""
    if exists(connection, agent_id, spool.digest):
        return
    for number, data in enumerate(spool.chunks()):
        _insert(connection, agent_id, spool.digest, number, data)


def put_small(connection: Connection, agent_id: str, data: bytes) -> str:
    """Write a short piece of content and return its digest."""
    digest = hashlib.sha256(data).hexdigest()
    if not exists(connection, agent_id, digest):
        _insert(connection, agent_id, digest, 0, zlib.compress(data, _LEVEL))
    return digest


def _insert(connection: Connection, agent_id: str, digest: str, number: int, data: bytes) -> None:
    # Two writers may store the same content at once; the bytes are the same, so the first stays.
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    row = {"agent_id": agent_id, "digest": digest, "chunk": number, "data": data}
    connection.execute(dialect.insert(content_blobs).values(row).on_conflict_do_nothing())


def exists(connection: Connection, agent_id: str, digest: str) -> bool:
    found = connection.execute(
        select(content_blobs.c.chunk)
        .where(content_blobs.c.agent_id == agent_id, content_blobs.c.digest == digest)
        .limit(1)
    )
    return found.first() is not None


def chunk(connection: Connection, agent_id: str, digest: str, number: int) -> bytes | None:
    """One chunk, decompressed; None behind the last."""
    row = connection.execute(
        select(content_blobs.c.data).where(
            content_blobs.c.agent_id == agent_id,
            content_blobs.c.digest == digest,
            content_blobs.c.chunk == number,
        )
    ).first()
    return None if row is None else zlib.decompress(row.data)


def chunks_of(connection: Connection, agent_id: str, digest: str) -> Iterator[bytes]:
    """The content in chunks, each read from the database when it is asked for."""
    number = 0
    while (data := chunk(connection, agent_id, digest, number)) is not None:
        yield data
        number += 1


def last_chunk(connection: Connection, agent_id: str, digest: str) -> bytes:
    found = connection.execute(
        select(content_blobs.c.data)
        .where(content_blobs.c.agent_id == agent_id, content_blobs.c.digest == digest)
        .order_by(content_blobs.c.chunk.desc())
        .limit(1)
    ).scalar_one()
    return zlib.decompress(found)


def whole(connection: Connection, agent_id: str, digest: str) -> bytes:
    return b"".join(chunks_of(connection, agent_id, digest))


def as_text(chunks: Iterable[bytes]) -> Iterator[str]:
    """Decode chunks as UTF-8; a character may lie across two of them."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for chunk in chunks:
        yield decoder.decode(chunk)
    rest = decoder.decode(b"", final=True)
    if rest:
        yield rest
