"""The names in a text that an agent may need again: ids, paths, addresses, numbers, codes.

What is repeated is easy to find again; what is rare and exact is lost first when text is
shortened. A citation therefore lists such names. Every pattern runs in linear time.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

_TOKEN = re.compile(
    r"https?://[^\s\"'<>()\[\]{}|\\^`]{3,300}"
    r"|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,32}){1,4}"
    r"|(?<![\w/])[\w.~-]{0,64}(?:/[\w.@+%-]{1,80}){1,20}"
    r"|[A-Za-z0-9_$#][\w.:#-]{1,79}"
)
_TRAILING = ".:-,;#"
_YEARLIKE = re.compile(r"(?:19|20)\d\d")


def mentions(text: str, limit: int = 40) -> list[str]:
    """List identifier-like names of the text: the rarest first, bare numbers last."""
    counts: Counter[str] = Counter()
    for match in _TOKEN.finditer(text):
        name = match.group().rstrip(_TRAILING)
        if is_identifier(name) and not _is_key(text, match.end()):
            counts[name] += 1
            if len(counts) >= 20_000:
                break
    ranked = sorted(counts.items(), key=lambda pair: (_is_number(pair[0]), min(pair[1], 4)))
    return [name for name, _ in ranked[:limit]]


def _is_key(text: str, end: int) -> bool:
    """Keys of JSON are the same in every answer of a tool; their values are what is used again."""
    return text[end : end + 2] == '":'


def _is_number(name: str) -> bool:
    return not any(char.isalpha() for char in name)


def is_identifier(name: str) -> bool:
    """True for what looks made to be exact: it has digits, separators or unusual capitals."""
    if not 3 <= len(name) <= 400 or _YEARLIKE.fullmatch(name):
        return False
    if "://" in name or "@" in name:
        return True
    if "/" in name:
        return len(name) > 4 and any(char.isalpha() for char in name)
    letters = any(char.isalpha() for char in name)
    digits = sum(char.isdigit() for char in name)
    if digits:
        return (letters and len(name) >= 4) or digits >= 4
    return _is_compound(name)


def _is_compound(name: str) -> bool:
    """``snake_case``, ``dotted.name``, ``camelCase`` and codes in capitals."""
    inner = name[1:-1]
    if "_" in inner or ("." in inner and len(name) >= 6):
        return True
    if name.isupper():
        return 3 <= len(name) <= 10
    return any(a.islower() and b.isupper() for a, b in pairwise(name))
