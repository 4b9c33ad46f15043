"""Source files: what they define and import, each with its line number."""

from __future__ import annotations

import re

from waypost.content.compaction.base import Compacted, clip, listing
from waypost.content.material import Material

_NUMBERED = re.compile(r"^\s{0,8}\d+[:|\t ]\s?", re.MULTILINE)
_FILE = re.compile(r"\[?File: ([^\s\](]{2,300})|^(?:# |// )?([\w./-]{1,200}\.\w{1,5})\b")
_DEFINES = re.compile(
    r"^\s{0,40}(?:export\s+|default\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|"
    r"abstract\s+|final\s+|pub(?:\([a-z]+\))?\s+|unsafe\s+|inline\s+){0,4}"
    r"(?:def|class|function|fn|func|interface|struct|enum|trait|impl|type|module|namespace)"
    r"\s+[\w$:<(]"
)
_ASSIGNED = re.compile(r"^(?:const|let|var|final)?\s?([A-Z][A-Z0-9_]{2,60})\s{0,8}[:=]")
_IMPORTS = re.compile(r"^\s{0,8}(?:import|from|#include|using|require|use|package)\b[^\n]{1,160}")
_CODE_ENDINGS = (
    *(".py", ".js", ".ts", ".tsx", ".jsx", ".java", ".c", ".h", ".cpp", ".go", ".rs", ".rb"),
    *(".php", ".cs", ".kt", ".swift", ".scala", ".sh", ".sql", ".lua"),
)


class SourceFileCompactor:
    name = "source file"

    def confidence(self, material: Material) -> float:
        media = material.media_type.lower()
        if media.startswith("text/x-") or "javascript" in media or "python" in media:
            return 0.9
        head = material.head[:20_000]
        lines = _plain_lines(head)[:400]
        defined = sum(1 for line in lines if _DEFINES.match(line[:300]))
        imported = sum(1 for line in lines if _IMPORTS.match(line[:300]))
        named = bool(_name_of(head)) and _name_of(head).endswith(_CODE_ENDINGS)
        if named and defined + imported >= 1:
            return 0.88
        return 0.7 if defined + imported >= 3 and defined else 0.0

    def compact(self, material: Material) -> Compacted:
        lines = _plain_lines(material.head)
        defined = [
            f"{number}: {clip(line.strip(), 110)}"
            for number, line in enumerate(lines, 1)
            if _DEFINES.match(line[:300]) or _ASSIGNED.match(line[:300])
        ]
        imported = [clip(line.strip(), 80) for line in lines if _IMPORTS.match(line[:300])]
        documented = [clip(line) for line in _first_comment(lines)]
        outline = [*documented, *defined[:60], *listing("Imports", imported, 10)]
        if not defined:
            outline += [clip(line, 160) for line in lines if line.strip()][:12]
        what = f"source file of {len(lines)}{'' if material.whole else '+'} lines"
        return Compacted(
            what,
            tuple(outline),
            "definitions, imports",
            _name_of(material.head) or None,
        )


def _plain_lines(text: str) -> list[str]:
    """Lines without the numbers that an editor or viewer put before them."""
    lines = text.splitlines()
    numbered = sum(1 for line in lines[:50] if _NUMBERED.match(line))
    if numbered * 2 > len(lines[:50]):
        return [_NUMBERED.sub("", line, count=1) for line in lines]
    return lines


def _name_of(text: str) -> str:
    match = _FILE.search(text[:500])
    return (match.group(1) or match.group(2)) if match else ""


def _first_comment(lines: list[str]) -> list[str]:
    for line in lines[:5]:
        stripped = line.strip()
        if stripped.startswith(('"""', "'''", "/*", "//", "#")) and not stripped.startswith("#!"):
            text = stripped.strip("\"'/*# ")
            return [text] if text else []
    return []
