"""Images and other binary data: format, dimensions where the header tells, first bytes."""

from __future__ import annotations

import struct

from waypost.content.compaction.base import Compacted
from waypost.content.material import Material

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive (or office document)"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "ELF executable"),
    (b"MZ", "Windows executable"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"BM", "BMP image"),
)
_START_OF_FRAME = frozenset({0xC0, 0xC1, 0xC2, 0xC3})


class BinaryCompactor:
    name = "binary"

    def confidence(self, material: Material) -> float:
        return 1.0 if material.is_binary else 0.0

    def compact(self, material: Material) -> Compacted:
        what = describe(material.data, material.media_type)
        size = dimensions(material.data)
        lines = [f"{size[0]} × {size[1]} pixels"] if size else []
        lines.append(f"begins with {material.data[:16].hex(' ')}")
        return Compacted(what, tuple(lines), "format and dimensions; the bytes are not text")


def describe(data: bytes, media_type: str = "") -> str:
    """Name a format by its first bytes, else by its declared type."""
    if data[:4] == b"RIFF" and len(data) >= 12:
        return {b"WEBP": "WebP image", b"WAVE": "WAV audio"}.get(data[8:12], "RIFF media")
    if data[4:8] == b"ftyp":
        return "MP4 media"
    for signature, name in _SIGNATURES:
        if data.startswith(signature):
            return name
    return f"binary data ({media_type})" if media_type else "binary data"


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF or JPEG, when the sample reaches that far."""
    try:
        if data.startswith(b"\x89PNG"):
            width, height = struct.unpack(">II", data[16:24])
            return int(width), int(height)
        if data.startswith(b"GIF8"):
            width, height = struct.unpack("<HH", data[6:10])
            return int(width), int(height)
        return _jpeg_dimensions(data) if data.startswith(b"\xff\xd8") else None
    except (struct.error, IndexError):
        return None


def _jpeg_dimensions(data: bytes) -> tuple[int, int] | None:
    position = 2
    while position + 9 < len(data) and data[position] == 0xFF:
        length = int.from_bytes(data[position + 2 : position + 4])
        if data[position + 1] in _START_OF_FRAME:
            height, width = struct.unpack(">HH", data[position + 5 : position + 9])
            return int(width), int(height)
        position += 2 + max(length, 2)
    return None
