"""Diffs: the files with lines added and removed, then the changed places."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from waypost.content.compaction.base import Compacted, clip, media_is
from waypost.content.material import Material

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.{0,120})", re.MULTILINE)


@dataclass
class _File:
    name: str
    added: int = 0
    removed: int = 0
    places: list[str] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)


class DiffCompactor:
    name = "diff"

    def confidence(self, material: Material) -> float:
        if media_is(material, "text/x-diff", "text/x-patch"):
            return 0.95
        head = material.head[:20_000]
        if not _HUNK.search(head):
            return 0.0
        return 0.92 if "\n+++ " in head or head.startswith(("diff ", "--- ")) else 0.6

    def compact(self, material: Material) -> Compacted:
        files = _files(material.text)
        lines = [f"{file.name} +{file.added} -{file.removed}" for file in files[:30]]
        for file in files[:10]:
            lines += [clip(place, 140) for place in file.places[:4]]
            lines += [clip(sample, 140) for sample in file.samples[:4]]
        added = sum(file.added for file in files)
        removed = sum(file.removed for file in files)
        what = f"diff of {len(files)} files, +{added} -{removed} lines"
        return Compacted(what, tuple(lines), "files, counts, first changed lines")


def _files(text: str) -> list[_File]:
    files: list[_File] = []
    for line in text.splitlines():
        if line.startswith("+++ ") or (line.startswith("diff ") and not files):
            _named(files, line)
        elif files and not line.startswith(("--- ", "diff ")):
            _counted(files[-1], line)
    return files


def _named(files: list[_File], line: str) -> None:
    name = line.split("\t")[0].split(" ")[-1].removeprefix("b/")
    if files and not files[-1].places and files[-1].added + files[-1].removed == 0:
        files.pop()
    files.append(_File(clip(name, 160)))


def _counted(file: _File, line: str) -> None:
    hunk = _HUNK.match(line)
    if hunk:
        file.places.append(f"{file.name}:{hunk.group(1)} {hunk.group(2)}".rstrip())
    elif line.startswith(("+", "-")):
        file.added += line.startswith("+")
        file.removed += line.startswith("-")
        if len(file.samples) < 4 and line[1:].strip():
            file.samples.append(line)
