"""Any text: its first words, the sentences with the rarest names, and its end."""

from __future__ import annotations

import re

from waypost.content.compaction.base import Compacted, clip
from waypost.content.material import Material

_HEADING = re.compile(r"^#{1,4} (.{2,120})$", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s{0,20}\n")


class PlainTextCompactor:
    """The fallback: never the first choice, always possible."""

    name = "text"

    def confidence(self, material: Material) -> float:
        return 0.1

    def compact(self, material: Material) -> Compacted:
        text = material.head
        paragraphs = [part for part in _PARAGRAPH.split(text[:50_000]) if part.strip()]
        headings = _HEADING.findall(text[:50_000])[:10]
        lines = [clip(part, 280) for part in paragraphs[:2]]
        if headings:
            lines.append(f"Headings: {', '.join(headings)}")
        if len(paragraphs) > 2 or not material.whole:
            lines.append(f"ends: {clip(material.text[-240:], 240)}")
        count = text.count("\n") + 1
        what = f"text of {count}{'' if material.whole else '+'} lines" if count > 1 else "text"
        return Compacted(what, tuple(lines), "beginning and end")
