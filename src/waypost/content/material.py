"""What a compactor looks at: a bounded sample of a stored result, and what it claims to be.

An item can be larger than memory allows, so compactors never see all of it: they get its
beginning and its end as text, and its true size. Bytes that are not text are kept as bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

HEAD_CHARACTERS = 200_000
TAIL_CHARACTERS = 20_000
_HEAD_BYTES = 400_000
_TAIL_BYTES = 40_000
_MAX_BAD_SHARE = 0.02


@dataclass(frozen=True)
class Material:
    """A sample of one result. ``tail`` is empty when ``head`` is already the whole text."""

    head: str
    tail: str = ""
    data: bytes = b""
    size: int = 0
    media_type: str = ""
    source: str = ""

    @property
    def whole(self) -> bool:
        return not self.tail

    @property
    def is_binary(self) -> bool:
        return bool(self.data) and not self.head

    @property
    def text(self) -> str:
        return self.head if self.whole else f"{self.head}\n…\n{self.tail}"


def material_of(content: str | bytes, *, media_type: str = "", source: str = "") -> Material:
    """Sample a result that is in memory."""
    if isinstance(content, str):
        return _of_text(content, media_type, source)
    return material_of_chunks([content], media_type=media_type, source=source)


def material_of_chunks(
    chunks: Iterable[bytes], *, media_type: str = "", source: str = ""
) -> Material:
    """Sample a result that arrives in pieces, holding only its two ends."""
    head, tail, size = bytearray(), bytearray(), 0
    for chunk in chunks:
        room = _HEAD_BYTES - len(head)
        head += chunk[:room]
        tail += chunk[max(room, 0) :][-_TAIL_BYTES:]
        del tail[:-_TAIL_BYTES]
        size += len(chunk)
    return sampled(bytes(head), bytes(tail), size, media_type=media_type, source=source)


def sampled(
    head: bytes,
    tail: bytes,
    size: int,
    *,
    media_type: str = "",
    source: str = "",
    is_text: bool = False,
) -> Material:
    """Make a material of the two ends of a result of ``size`` bytes; ``is_text`` if it is known."""
    text = head.decode("utf-8", errors="replace") if is_text else decode(head)
    if text is None:
        return Material("", "", head[:4096], size, media_type, source)
    if not tail and len(text) <= HEAD_CHARACTERS:
        return Material(text, "", b"", size, media_type, source)
    end = tail.decode("utf-8", errors="replace") if tail else text[HEAD_CHARACTERS:]
    return Material(text[:HEAD_CHARACTERS], end[-TAIL_CHARACTERS:], b"", size, media_type, source)


def decode(data: bytes) -> str | None:
    """Read bytes as UTF-8 (or UTF-16 with its mark); None when they are not text.

    A few bad bytes are replaced, since real pages have them; NUL or many bad bytes mean binary.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    if b"\x00" in data[:65536]:
        return None
    text = data.decode("utf-8", errors="replace")
    if text.count("�") > max(3, len(text) * _MAX_BAD_SHARE):
        return None
    return text


def readable_size(size: int) -> str:
    """Say a number of bytes as people do: "812 B", "23.4 KB", "1.2 MB"."""
    if size < 1000:
        return f"{size} B"
    value, unit = size / 1000, "KB"
    for following in ("MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, following
    return f"{value:.1f} {unit}"


def _of_text(content: str, media_type: str, source: str) -> Material:
    size = len(content.encode("utf-8", "surrogatepass"))
    if len(content) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return Material(content, "", b"", size, media_type, source)
    head, tail = content[:HEAD_CHARACTERS], content[-TAIL_CHARACTERS:]
    return Material(head, tail, b"", size, media_type, source)
