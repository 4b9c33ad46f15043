"""Names in a text: people, places, products, paths, addresses, identifiers, quoted names.

A capital at the start of a sentence proves nothing, so a single word
there counts only when the same word stands capitalised inside a sentence too.
"""

from __future__ import annotations

import re

from waypost.encode.stop_words import STOP_WORDS

MAX_ENTITIES = 24
_MAX_LENGTH = 120
_DOUBTFUL = "\0"  # before a name that may owe its capital to its place

_NAME = r"[A-ZÀ-Þ][\w'’&-]*[\w]|[A-Z]{2,}|[A-Z](?=\d)"
# Looked for only where the text has the sign that such a thing cannot be without.
_MARKED = (
    ("://", re.compile(r"https?://[^\s<>\"')\]]{3,300}")),
    ("@", re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")),
    (
        "/",
        re.compile(
            r"(?<![\w/:])(?:~|\.{1,2}|[A-Za-z]:)?(?:/[\w.@+-]{1,80}){2,12}/?"
            r"|(?<![\w./:-])[\w.-]{1,80}(?:/[\w.@+-]{1,80}){1,12}\.\w{1,8}\b"
        ),
    ),
    ('"', re.compile(r"\"[^\"\n]{2,60}\"")),
    ("“", re.compile(r"“[^“”\n]{2,60}”")),
    ("`", re.compile(r"`[^`\n]{2,60}`")),
    ("_", re.compile(r"\b[A-Za-z]\w{0,60}_\w{1,60}(?:\(\))?")),
    ("-", re.compile(r"\b[A-Z][A-Z0-9]{0,20}-\d[\w-]{0,40}")),
)
# Nearly every text has a full stop, few have one inside a word.
_INNER_DOT = re.compile(r"\.\w")
_DOTTED = re.compile(
    r"(?<![\w./])(?:v?\d+\.\d+(?:\.\d+)+|v\d+\.\d+|[A-Za-z][\w-]{0,60}\.(?:py|js|ts|md|json"
    r"|toml|ya?ml|txt|csv|go|rs|java|html|css|sh|sql|log|pdf))\b(?![\w/])"
)
_NAMED = re.compile(
    rf"\b(?:(?P<camel>[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*)\b"
    rf"|(?:{_NAME})(?:(?: (?:of|de|van|von|the|and)(?= [A-Z]))?"
    rf" (?:{_NAME}|\d+(?:\.\d+)*\b)){{0,4}})"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n•*>-])[\s\"'“(\[*_#-]*$")
_DIGIT = re.compile(r"\d")
_POSSESSIVE = re.compile(r"['’]s?$")


def find_entities(text: str) -> list[str]:
    """Return the names in a text, in order of appearance, each once."""
    found = _marked(text)
    covered = {start for start, _ in found}
    inside: set[str] = set()
    for match in _NAMED.finditer(text):
        if match.start() not in covered:
            found.append((match.start(), _name_at(text, match, inside)))
    found.sort()
    return _kept(dict.fromkeys(name for _, name in found), inside)


def _marked(text: str) -> list[tuple[int, str]]:
    patterns = [pattern for sign, pattern in _MARKED if sign in text]
    if _INNER_DOT.search(text):
        patterns.append(_DOTTED)
    return [
        (match.start(), _bare(match[0])) for pattern in patterns for match in pattern.finditer(text)
    ]


def _bare(marked: str) -> str:
    return marked.strip('"“”`').rstrip(".,;:")[:_MAX_LENGTH]


def _name_at(text: str, match: re.Match[str], inside: set[str]) -> str:
    """Return the name of a match, marked as doubtful when only its place may explain a capital."""
    if match["camel"]:
        return match[0][:_MAX_LENGTH]
    starts = _starts_sentence(text, match.start())
    name, moved = _trim(match[0], starts=starts)
    if starts and not moved and " " not in name and not _is_marked(name):
        return _DOUBTFUL + name
    inside.add(name)
    return name


def _kept(found: dict[str, None], inside: set[str]) -> list[str]:
    kept: dict[str, None] = {}
    for name in found:
        if name.startswith(_DOUBTFUL):
            name = name[1:]
            if name not in inside:
                continue
        if name.strip():
            kept[name.strip()] = None
        if len(kept) == MAX_ENTITIES:
            break
    return list(kept)


def _trim(name: str, *, starts: bool) -> tuple[str, bool]:
    """Drop words in front that have a capital only by their place; say whether any went."""
    words = name.split(" ")
    first = 0
    while first < len(words) and _is_common(words[first]):
        # Inside a sentence the capital of "New York" is its own; at the start it is still likely.
        if len(words) - first > 1 and (
            words[first] == "New" or not (starts or words[first][0] == "I")
        ):
            break
        first += 1
    kept = words[first:]
    while kept and (kept[-1].lower() in STOP_WORDS or kept[-1] in ("of", "and", "the")):
        kept.pop()
    return _POSSESSIVE.sub("", " ".join(kept))[:_MAX_LENGTH], first > 0


def _is_common(word: str) -> bool:
    lower = word.lower().replace("’", "'")
    return lower in STOP_WORDS or lower.split("'")[0] in STOP_WORDS or len(word) == 1


def _is_marked(name: str) -> bool:
    """True for a word that is a name wherever it stands: ACME, R2D2."""
    return len(name) > 1 and (name.isupper() or _DIGIT.search(name) is not None)


def _starts_sentence(text: str, start: int) -> bool:
    return _SENTENCE_START.search(text, max(0, start - 12), start) is not None
