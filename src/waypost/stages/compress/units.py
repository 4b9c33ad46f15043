"""Cut a source into units: the sentences, lines, records and commands a summary is made of.

A unit is always a piece of its source, cleaned of mark-up; JSON becomes ``key value`` pairs, one
unit per record. Long sentences are cut at clause borders. Nothing is reworded, so a unit can be
shown as it is and never says more than its source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from waypost.stages.compress.sources import Source

GIVEN = "given"
"""The shape of a line that was written elsewhere, by a model."""
MAX_WORDS = 32
_MAX_COMMAND = 200
_MAX_JSON_DEPTH = 12

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9•*-])|\s*[•]\s*|\s{3,}")
_CLAUSE = re.compile(r"(?<=;)\s|\s[—–-]\s|(?<=,)\s(?=(?:and|but|so|which|because|while|then|or)\s)")
_MARKUP = re.compile(r"^(?:[#>*•|\s–]|-(?![\d.])|\d{1,3}[.)]\s)+|\*{2,}|`+|\s*[|\s]+$")
_BARE_MARK = re.compile(r"\W*\d{1,3}[.)]\W*")
_ESCAPED = 3
_LINK = re.compile(r"!?\[([^\]\n]*)\]\(([^)\s]+)[^)]*\)")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_SPACE = re.compile(r"\s+")
# Data inside text (a key, an image in base64): no word, address or path is that long.
_BLOB = re.compile(r"\S{400,}")
_LONG_WORD = re.compile(r"\S{120,}")
_FENCE = re.compile(r"^\s*(?:```|~~~)\s*(\w*)")
_SHELL = frozenset(("sh", "bash", "shell", "console", "zsh"))
_PROMPT = re.compile(r"^\s*(?:\$|>>>)\s+(?=\S)|^\s*(?:Action|Command|Tool call)\s*:\s*(?=\S)")
_OPENING = re.compile(
    r"^(?:(?:ok|okay|sure|great|alright|thanks|thank you|certainly|of course|absolutely|well|hi|"
    r"hello|hey|perfect|awesome|wow|oh|so|now|first|next|then|however|additionally|unfortunately|"
    r"also|furthermore|moreover|in addition|therefore|alternatively|yes)\b[,.!]*\s+)+"
    r"(?=\S+\s+\S+)",
    re.IGNORECASE,
)
_STAMP = re.compile(
    r"[\[(]?(?:\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:|\d{2}:\d{2}:\d{2}|"
    r"[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:|"
    r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b)"
)
_ODD = re.compile(r"[{}\[\]<>=|\\^~@#$%&*+/_`]")


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of a source. ``shape`` is prose, line (log, code, table), record or command.

    ``also`` are the positions of further sources it rests on.
    """

    text: str
    source: int
    shape: str
    also: tuple[int, ...] = ()


def split_sources(sources: list[Source]) -> list[Unit]:
    """The units of all sources, in order."""
    return [unit for position, source in enumerate(sources) for unit in split(source, position)]


def split(source: Source, position: int) -> Iterator[Unit]:
    """The units of one source; ``position`` is written into each."""
    if source.pinned:
        yield from (
            Unit(line.strip(), position, "prose")
            for line in source.text.splitlines()
            if line.strip()
        )
        return
    for shape, text in _pieces(source.text):
        if any(map(str.isalnum, text)) and not _BARE_MARK.fullmatch(text):
            # A command that a page or a file shows is text; nobody ran it.
            shown = source.bulk and shape == "command"
            yield Unit(text, position, "line" if shown else shape)
    for command in source.commands:
        yield Unit(_cut_command(command), position, "command")


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    parsed = _parse_json(text)
    if parsed is not None:
        yield from _records(parsed)
        return
    fence = None
    for line in unescaped(text).splitlines():
        marker = _FENCE.match(line)
        if marker:
            fence = marker[1].lower() if fence is None else None
        elif line.strip():
            yield from _line_pieces(line, fence)


def unescaped(text: str) -> str:
    """Text that was printed as a string literal (more ``\\n`` than line ends) as it was meant."""
    breaks = text.count("\\n")
    if breaks < _ESCAPED or breaks <= text.count("\n"):
        return text
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\t", " ")


def _line_pieces(line: str, fence: str | None) -> Iterator[tuple[str, str]]:
    parsed = _parse_json(line)
    prompt = _PROMPT.match(line)
    if parsed is not None:
        yield from _records(parsed)
    elif prompt or fence in _SHELL:
        yield "command", _cut_command(line[prompt.end() if prompt else 0 :])
    elif fence is not None or _is_machine_line(line):
        for piece in _windows(_clean(line)):
            yield "line", piece
    else:
        yield from (("prose", piece) for piece in _sentences(line))


def _parse_json(text: str) -> Any | None:
    stripped = text.strip()
    if len(stripped) < 8 or stripped[0] + stripped[-1] not in ("{}", "[]"):
        return None
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _records(value: Any, lead: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """One piece per object: its own plain fields; nested objects follow under their key."""
    if depth > _MAX_JSON_DEPTH:
        yield from (("line", piece) for piece in _windows(json.dumps(value)))
        return
    if isinstance(value, list):
        yield from _list_records(value, lead, depth)
        return
    plain = [f"{key} {_scalar(item)}" for key, item in value.items() if _is_plain(item)]
    for piece in _packed(plain, lead):
        yield "record", piece
    for key, item in value.items():
        if isinstance(item, str) and not _is_plain(item):
            yield from _pieces(item)
        elif isinstance(item, dict | list) and item:
            yield from _records(item, f"{lead} {key}".strip(), depth + 1)


def _list_records(value: list[Any], lead: str, depth: int) -> Iterator[tuple[str, str]]:
    plain = [_scalar(item) for item in value if _is_plain(item)]
    for piece in _packed(plain, lead):
        yield "record", piece
    for item in value:
        if isinstance(item, str) and not _is_plain(item):
            yield from _pieces(item)
        elif isinstance(item, dict | list) and item:
            yield from _records(item, lead, depth + 1)


def _packed(parts: list[str], lead: str) -> Iterator[str]:
    """Join parts into lines of about ``MAX_WORDS`` words, each opened by its lead."""
    line: list[str] = []
    words = 0
    for part in parts:
        if line and words + len(part.split()) > MAX_WORDS:
            yield f"{lead}: {', '.join(line)}" if lead else ", ".join(line)
            line, words = [], 0
        line.append(part)
        words += len(part.split())
    if line:
        yield f"{lead}: {', '.join(line)}" if lead else ", ".join(line)


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= 160 and "\n" not in value
    return not isinstance(value, dict | list)


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _sentences(line: str) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(_clean(line)):
        trimmed = _OPENING.sub("", sentence.strip())
        if len(trimmed.split()) <= MAX_WORDS:
            yield trimmed
        else:
            yield from _clauses(trimmed)


def _clauses(sentence: str) -> Iterator[str]:
    """Cut a long sentence at clause borders, rejoining what is short."""
    held = ""
    for clause in _CLAUSE.split(sentence):
        joined = f"{held} {clause}".strip()
        if held and len(joined.split()) > MAX_WORDS:
            yield from _windows(held)
            joined = clause
        held = joined
    yield from _windows(held)


def _windows(text: str) -> Iterator[str]:
    words = text.split()
    if len(words) <= MAX_WORDS + MAX_WORDS // 4:
        yield text.strip()
        return
    for start in range(0, len(words), MAX_WORDS):
        yield " ".join(words[start : start + MAX_WORDS])


def _is_machine_line(line: str) -> bool:
    """Code, logs and tables: stamped, full of signs, or indented without a sentence in it."""
    stripped = line.strip()
    if _STAMP.match(stripped):
        return True
    odd = len(_ODD.findall(stripped))
    if odd * 12 > len(stripped) and odd > 1:
        return True
    return line.startswith(("    ", "\t")) and not stripped.endswith((".", "!", "?", ","))


def _clean(line: str) -> str:
    text = _BLOB.sub("…", _SPACE.sub(" ", line))
    text = _TAG.sub(" ", _LINK.sub(r"\1 \2", text))
    return _SPACE.sub(" ", _MARKUP.sub("", text)).strip()


def _cut_command(text: str) -> str:
    """A command as one line; the body of a long one (a file it writes) stays with the source."""
    first = _SPACE.sub(" ", _LONG_WORD.sub("…", text.strip().split("\n", 1)[0]))
    if len(first) <= _MAX_COMMAND:
        return first
    return first[:_MAX_COMMAND].rsplit(" ", 1)[0] or first[:_MAX_COMMAND]
