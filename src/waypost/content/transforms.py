"""Reading a stored item back: full, excerpt, summary, first_n, last_n, filtered.

A transform works on a :class:`Source`, which can be read again and again in pieces, so a result
of any size passes through with bounded memory. What comes back is bounded too: at most
``max_tokens`` tokens, exactly counted, with a note that says what was left out and how to get it.
Parameters are checked first; a wrong one is an error that lists the right ones.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from waypost.content.compaction import choose, compact, digest
from waypost.content.guarded_regex import matching_lines
from waypost.content.json_text import MAX_LOADED, keys_at, load_json, select
from waypost.content.markup import page_text
from waypost.content.material import Material
from waypost.content.passages import best_passages
from waypost.content.tables import read_table
from waypost.exceptions import InvalidInput
from waypost.model import Transform, TransformType
from waypost.tokens import count_tokens, truncate_tokens

VIEW_TOKENS = 8000
_LONGEST_LINE = 100_000
_LONGEST_PAGE = 2_000_000


@dataclass(frozen=True)
class Source:
    """An item's text: ``pieces`` starts from the beginning each time it is called."""

    material: Material
    pieces: Callable[[], Iterator[str]]
    characters: int

    def text(self, limit: int) -> str:
        """The first ``limit`` characters."""
        parts, left = [], limit
        for piece in self.pieces():
            parts.append(piece[:left])
            left -= len(piece)
            if left <= 0:
                break
        return "".join(parts)

    def lines(self) -> Iterator[str]:
        """Lines without their ends; one without an end for very long is cut in two."""
        rest = ""
        for piece in self.pieces():
            *whole, rest = (rest + piece).split("\n")
            yield from (line.removesuffix("\r") for line in whole)
            while len(rest) > _LONGEST_LINE:
                yield rest[:_LONGEST_LINE]
                rest = rest[_LONGEST_LINE:]
        if rest:
            yield rest


@dataclass(frozen=True)
class View:
    text: str
    truncated: bool = False
    note: str | None = None


class _Params(BaseModel):
    model_config = ConfigDict(extra="forbid")
    max_tokens: int = Field(default=VIEW_TOKENS, ge=1, le=1_000_000)


class FullParams(_Params):
    """Everything, up to max_tokens."""


class SummaryParams(_Params):
    max_tokens: int = Field(default=300, ge=20, le=20_000)


class ExcerptParams(_Params):
    """From a character position, or around the first place where a text occurs."""

    start: int = Field(default=0, ge=0)
    length: int = Field(default=2000, ge=1, le=1_000_000)
    around: str | None = Field(default=None, min_length=1, max_length=1000)


class CountParams(_Params):
    n: int = Field(default=20, ge=1, le=1_000_000)
    unit: Literal["lines", "characters", "tokens"] = "lines"


class FilterParams(_Params):
    """Exactly one of path, regex, columns and question."""

    path: str | None = Field(default=None, min_length=1, max_length=1000)
    regex: str | None = Field(default=None, min_length=1, max_length=1000)
    columns: list[str] | None = Field(default=None, min_length=1, max_length=200)
    question: str | None = Field(default=None, min_length=1, max_length=2000)
    context: int = Field(default=0, ge=0, le=50)
    ignore_case: bool = True
    limit: int = Field(default=200, ge=1, le=100_000)

    @model_validator(mode="after")
    def _exactly_one(self) -> FilterParams:
        given = [name for name in ("path", "regex", "columns", "question") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError("give exactly one of path, regex, columns or question")
        return self


_PARAMS: dict[TransformType, type[_Params]] = {
    TransformType.FULL: FullParams,
    TransformType.EXCERPT: ExcerptParams,
    TransformType.SUMMARY: SummaryParams,
    TransformType.FIRST_N: CountParams,
    TransformType.LAST_N: CountParams,
    TransformType.FILTERED: FilterParams,
}


def apply(transform: Transform, source: Source) -> View:
    """Read ``source`` through the transform, within its token limit."""
    params = check_params(transform)
    if source.material.is_binary and transform.type is not TransformType.SUMMARY:
        summary = _summary(source, SummaryParams())
        return View(summary.text, True, "binary data has no text; this is what is known of it")
    view = _READERS[transform.type](source, params)
    return _within(view, params.max_tokens)


def check_params(transform: Transform) -> _Params:
    """The checked parameters, or an error that names the right ones."""
    model = _PARAMS[transform.type]
    try:
        return model.model_validate(transform.params)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        problem = first["msg"].removeprefix("Value error, ")
        known = ", ".join(model.model_fields)
        raise InvalidInput(
            f"transform {transform.type.value!r}: {place + ': ' if place else ''}{problem}; "
            f"its parameters are {known}",
            transform=transform.type.value,
        ) from None


def _within(view: View, limit: int) -> View:
    # A text of n characters has at most n tokens times four bytes; short ones need no counting.
    if len(view.text) * 4 <= limit or count_tokens(view.text[: limit * 128 + 1]) <= limit:
        return view
    kept = truncate_tokens(view.text, limit)
    note = f"cut after {limit:,} tokens; ask for another part with excerpt, last_n or filtered"
    return View(kept, True, "; ".join(filter(None, (view.note, note))))


def _full(source: Source, params: Any) -> View:
    limit = params.max_tokens * 128 + 1
    text = source.text(limit)
    if len(text) < source.characters:
        note = f"the beginning of {source.characters:,} characters"
        return View(text, True, note)
    return View(text)


def _summary(source: Source, params: Any) -> View:
    compacted = compact(source.material)
    head = f"{compacted.what}: {compacted.title}" if compacted.title else compacted.what
    head = truncate_tokens(head, params.max_tokens)
    body, whole = digest(compacted, source.material, params.max_tokens - count_tokens(head) - 2)
    return View(f"{head}\n{body}" if body else head, not whole, f"kept {compacted.kept}")


def _excerpt(source: Source, params: Any) -> View:
    start = params.start
    if params.around is not None:
        found = _find(source, params.around)
        if found is None:
            return View(
                "", False, f"{params.around[:80]!r} does not occur; try a filtered question"
            )
        start = max(0, found - params.length // 2)
    text = _slice(source, start, params.length)
    end = start + len(text)
    note = f"characters {start:,} to {end:,} of {source.characters:,}"
    return View(text, start > 0 or end < source.characters, note)


def _slice(source: Source, start: int, length: int) -> str:
    parts, position = [], 0
    for piece in source.pieces():
        if position + len(piece) > start:
            parts.append(piece[max(0, start - position) : start + length - position])
        position += len(piece)
        if position >= start + length:
            break
    return "".join(parts)


def _find(source: Source, wanted: str) -> int | None:
    """The place of the first occurrence, also across pieces; letters' case does not matter."""
    lowered, held, position = wanted.lower(), "", 0
    for piece in source.pieces():
        window = held + piece
        found = window.lower().find(lowered)
        if found >= 0:
            return position - len(held) + found
        position += len(piece)
        held = window[-len(wanted) :]
    return None


def _first_n(source: Source, params: Any) -> View:
    if params.unit == "lines":
        lines = list(islice(source.lines(), min(params.n, params.max_tokens + 1)))
        text = "\n".join(lines)
    elif params.unit == "characters":
        text = source.text(params.n)
    else:
        text = truncate_tokens(source.text(params.n * 128 + 1), params.n)
    return View(text, len(text) < source.characters, _share(text, source))


def _last_n(source: Source, params: Any) -> View:
    if params.unit == "lines":
        text = "\n".join(deque(source.lines(), maxlen=min(params.n, params.max_tokens)))
    else:
        wanted = params.n if params.unit == "characters" else params.n * 16
        text = _slice(source, max(0, source.characters - wanted), wanted)
    if params.unit == "tokens":
        text = _last_tokens(text, params.n)
    elif count_tokens(text) > params.max_tokens:
        text = _last_tokens(text, params.max_tokens)
    return View(text, len(text) < source.characters, _share(text, source))


def _last_tokens(text: str, limit: int) -> str:
    """The end of a text of at most ``limit`` tokens, by halving the search."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        if count_tokens(text[middle:]) <= limit:
            high = middle
        else:
            low = middle + 1
    return text[low:]


def _share(text: str, source: Source) -> str:
    return f"{len(text):,} of {source.characters:,} characters"


def _filtered(source: Source, params: Any) -> View:
    if params.path is not None:
        return _by_path(source, params.path)
    if params.regex is not None:
        return _by_regex(source, params)
    if params.columns is not None:
        return _by_columns(source, params)
    return _by_question(source, params)


def _by_path(source: Source, path: str) -> View:
    value = load_json(source.text(MAX_LOADED + 1))
    if value is None:
        raise InvalidInput("a path needs JSON that can be read whole; this item is not; use regex")
    found = select(value, path)
    if not found:
        keys = ", ".join(keys_at(value, path)) or "none"
        raise InvalidInput(f"nothing at path {path!r}; keys where it stops: {keys}", path=path)
    if len(found) == 1 and "*" not in path:
        return View(_json(found[0][1]), True, found[0][0])
    lines = [f"{name.removeprefix('$').removeprefix('.')}: {_json(inner)}" for name, inner in found]
    return View("\n".join(lines), True, f"{len(found)} values")


def _json(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        raise InvalidInput(
            "the value at that path is nested too deep; choose a deeper path"
        ) from None


def _by_regex(source: Source, params: FilterParams) -> View:
    pattern = params.regex or ""
    hits = matching_lines(pattern, source.lines(), ignore_case=params.ignore_case)
    found = list(islice(hits, params.limit))
    if not found:
        return View("", False, f"no line matches {pattern[:80]!r}")
    numbers = {number for number, _ in found}
    if params.context:
        text = "\n".join(_with_context(source, numbers, params.context))
    else:
        text = "\n".join(f"{number}: {line}" for number, line in found)
    more = "; there may be more, raise limit" if len(found) == params.limit else ""
    return View(text, True, f"{len(found)} matching lines{more}")


def _with_context(source: Source, numbers: set[int], around: int) -> Iterator[str]:
    wanted = {near for n in numbers for near in range(n - around, n + around + 1)}
    last = max(wanted)
    for number, line in enumerate(islice(source.lines(), last), 1):
        if number in wanted:
            yield f"{number}{':' if number in numbers else '-'} {line}"


def _by_columns(source: Source, params: FilterParams) -> View:
    table = read_table(source.text(MAX_LOADED))
    if table is None:
        raise InvalidInput("columns need a table (CSV, TSV, markdown, JSON rows); this is none")
    names = {name.lower(): place for place, name in reversed(list(enumerate(table.columns)))}
    wanted = params.columns or []
    unknown = [name for name in wanted if name.lower() not in names]
    if unknown:
        raise InvalidInput(f"no column {unknown[0]!r}; there are {', '.join(table.columns[:40])}")
    places = [names[name.lower()] for name in wanted]
    rows = [[row[p] if p < len(row) else "" for p in places] for row in table.rows[: params.limit]]
    lines = [" | ".join(wanted), *(" | ".join(row) for row in rows)]
    return View("\n".join(lines), True, f"{len(rows)} of {len(table.rows)} rows")


def _by_question(source: Source, params: FilterParams) -> View:
    lines, unit = _readable_lines(source)
    found = best_passages(params.question or "", lines, min(params.limit, 8))
    if not found:
        return View("", False, "no passage shares a word with the question; try summary or regex")
    kept = sorted(found)
    text = "\n\n".join(f"[{unit} {passage.line}] {passage.text}" for passage in kept)
    return View(text, True, f"{len(kept)} passages")


def _readable_lines(source: Source) -> tuple[Iterable[str], str]:
    """The lines to look for an answer in: of a web page its blocks of text, without the markup."""
    if source.characters <= _LONGEST_PAGE and choose(source.material).name == "web page":
        return page_text(source.text(_LONGEST_PAGE)).split("\n"), "block"
    return source.lines(), "line"


_READERS: dict[TransformType, Callable[[Source, Any], View]] = {
    TransformType.FULL: _full,
    TransformType.EXCERPT: _excerpt,
    TransformType.SUMMARY: _summary,
    TransformType.FIRST_N: _first_n,
    TransformType.LAST_N: _last_n,
    TransformType.FILTERED: _filtered,
}


def source_of(text: str, *, media_type: str = "", name: str = "") -> Source:
    """A source over text in memory."""
    from waypost.content.material import material_of

    material = material_of(text, media_type=media_type, source=name)
    return Source(material, lambda: iter((text,)), len(text))
