"""Cut text into tokens that compare well: values whole, words by their stem.

A value (url, e-mail, date, path, id, number) is one token however it is punctuated, and has a
normal form: ``10,000`` is ``10000``, ``May 20, 2024`` is ``2024-05-20``. A word's form is its
lower-case stem. Everything above compares forms, so two spellings of one fact are one fact.

Pure and linear; every distinct word is stemmed once and remembered.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from waypost.encode.terms import STOP_WORDS

_MONTHS = "january february march april may june july august september october november december"
_MONTH_NUMBER = {name[:3]: number for number, name in enumerate(_MONTHS.split(), start=1)}
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_EXTENSIONS = (
    "py|ipynb|js|ts|tsx|jsx|json|jsonl|yaml|yml|toml|ini|cfg|conf|env|md|rst|txt|csv|tsv|xlsx?|"
    "docx?|pptx?|pdf|html?|css|xml|sql|db|sqlite|sh|bash|c|cc|cpp|h|hpp|java|go|rs|rb|php|cs|log|"
    "lock|png|jpe?g|gif|svg|wav|mp3|mp4|zip|tar|gz|xz|whl|enc|bin|so|exe|traj"
)

# Plain words come first because most tokens are; every later pattern starts at a border and has
# bounded parts, so that a long run of letters (a key, an image in base64) costs linear time.
_BORDER = r"(?<![\w@+=./~-])"
_TOKEN = re.compile(
    rf"""
    (?P<word>(?<![\w@/.~#-])(?!{_MONTH}\s\d)[A-Za-z]+(?:['’][A-Za-z]+)?(?=[\s,;!?)\]"*]|[.:]?(?:\s|$)))
  | (?P<mark>\s×\d+ | \#{(2,)}\w*\#*)
  | (?P<url>[a-z][a-z0-9+.-]{{1,9}}://[^\s<>"'`\])}}|]+)
  | (?P<email>{_BORDER}[\w.+-]{{1,64}}@[\w-]{{1,64}}(?:\.[\w-]{{1,64}})+)
  | (?P<date>
        \d{{4}}-\d{{2}}-\d{{2}}
            (?:[T ]\d{{2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d+)?)?(?:Z|[+-]\d{{2}}:?\d{{2}})?)?
      | \b\d{{1,2}}/\d{{1,2}}/\d{{2,4}}\b
      | \b{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?\b
      | \b\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}(?:,?\s\d{{4}})?\b
      | \b{_MONTH}\s\d{{4}}\b
      | \b\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d+)?)?(?:\s?[apAP]\.?[mM]\b\.?)?
      | \b\d{{1,2}}\s?[apAP][mM]\b )
  | (?P<path>
        (?<![\w<])(?:~|\.{{1,2}})?/[\w.@+=%-]*[\w@+=%-](?:/[\w.@+=%-]*[\w@+=%-])*/?
      | \b[A-Za-z]:\\[\w\\.@-]*\w
      | {_BORDER}[\w@+=./-]{{0,199}}?[\w@+=-]\.(?:{_EXTENSIONS})(?![\w/]) )
  | (?P<id>
        \b[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}\b
      | (?<![#@\w])[#@]\w+(?:-\w+)*
      | \b\d+(?:\.\d+){{2,8}}\b
      | \b[A-Za-z]+(?:[_-][A-Za-z]+){{0,5}}[_-]?\d+\w*(?:[._-]\w+){{0,8}}
      | \b\d+[A-Za-z]+\d\w*(?:[_-]\w+){{0,8}}
      | \b\d+(?:[_-]\d+){{1,8}}\b )
  | (?P<number>(?:(?<!\w)[-+])?(?:[$€£¥]\s?)?\d+(?:,\d{{3}})*(?:\.\d+)?(?:e[+-]?\d+)?
        (?:\s?%|°[CF]?|[A-Za-zµ]{{1,4}}\b)?)
  | (?P<symbol>
        \b[A-Za-z]\w*(?:\.[A-Za-z_]\w*){{1,8}}
      | \b[A-Za-z]+_\w+ )
  | (?P<other>[^\W\d_]+(?:['’][^\W\d_]+)*)
    """,
    re.VERBOSE,
)
_CAMEL = re.compile(r"[A-Z]?[a-z]+(?:[A-Z][a-z]+)+$")
_NUMBER = re.compile(r"([-+]?)([$€£¥]?)\s?([\d,]+(?:\.\d+)?(?:e[+-]?\d+)?)\s?(%|°[CF]?|[A-Za-zµ]*)")
_WRITTEN_DATE = re.compile(rf"(\d{{1,2}})?\D*?({_MONTH})\D*(\d{{1,2}}(?!\d))?\D*(\d{{4}})?")
_TIME = re.compile(r"(\d{1,2})(?::(\d{2})(?::00)?)?([ap]m)?")
_TRAILING = ".,;:!?"

VALUES = frozenset(("url", "email", "date", "path", "id", "number", "symbol"))
NEGATIONS = frozenset(("not", "no", "never", "without", "none", "nor", "neither", "cannot"))


class Token(NamedTuple):
    """One token: how it is written, its form for comparison, and what kind of thing it is."""

    text: str
    form: str
    kind: str
    unit: str
    start: int
    end: int

    @property
    def is_content(self) -> bool:
        """False for stop words, which carry no meaning on their own."""
        return self.kind != "word" or self.form not in _STOP_FORMS

    @property
    def negates(self) -> bool:
        lowered = self.text.lower()
        return lowered in NEGATIONS or lowered.endswith(("n't", "n’t"))


def tokenize(text: str) -> list[Token]:
    """The tokens of a text in their order; punctuation and marks (``×3``, ``##``) are dropped."""
    return [_token(match) for match in _TOKEN.finditer(text) if match.lastgroup != "mark"]


def forms(text: str) -> list[str]:
    """The content forms of a text in their order."""
    return [token.form for token in tokenize(text) if token.is_content]


def _token(match: re.Match[str]) -> Token:
    kind = match.lastgroup
    text = match.group()
    if kind in ("word", "other", None):
        kind = "symbol" if _CAMEL.match(text) else "word"
    if kind in ("url", "path"):
        text = text.rstrip(_TRAILING)
    unit = ""
    if kind == "number":
        form, unit = _normal_number(text)
    elif kind == "date":
        form = _normal_date(text)
    else:
        form = stem(text) if kind == "word" else text.lower()
    return Token(text, form, kind, unit, match.start(), match.start() + len(text))


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """A light English stem: plural, past and progressive endings come off, nothing else."""
    form = word.lower().replace("’", "'")
    form = form.removesuffix("'s")
    if len(form) > 4 and form.endswith("ies"):
        return form[:-3] + "y"
    for ending in ("ing", "ed"):
        if form.endswith(ending) and len(form) >= len(ending) + 3:
            return _undouble(form[: -len(ending)]).removesuffix("e")
    if len(form) > 3 and form.endswith("s") and not form.endswith(("ss", "us", "is")):
        form = form[:-1]
    return form.removesuffix("e") if len(form) > 3 else form


def _undouble(form: str) -> str:
    doubled = len(form) > 3 and form[-1] == form[-2] and form[-1] not in "aeiouls"
    return form[:-1] if doubled else form


def _normal_number(text: str) -> tuple[str, str]:
    match = _NUMBER.match(text)
    if match is None:
        return text, ""
    sign, currency, digits, suffix = match.groups()
    digits = digits.replace(",", "")
    if "." in digits and "e" not in digits:
        digits = digits.rstrip("0").rstrip(".")
    return ("-" if sign == "-" else "") + digits, (currency or suffix).lower()


def _normal_date(text: str) -> str:
    match = _WRITTEN_DATE.fullmatch(text.replace(",", " ").strip())
    if match is None:
        return _normal_time(text.lower().replace(" ", "").replace(".", ""))
    first, month, last, year = match.groups()
    day = first or last
    parts = [year or "", f"{_MONTH_NUMBER[month[:3].lower()]:02}", f"{int(day):02}" if day else ""]
    return "-".join(part for part in parts if part)


def _normal_time(text: str) -> str:
    """A time of day as hours and minutes of 24; anything else stays as it is."""
    match = _TIME.fullmatch(text)
    if match is None:
        return text
    hour, minute, half = int(match[1]), match[2] or "00", match[3]
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return f"{hour:02}:{minute}"


_STOP_FORMS = frozenset(stem(word) for word in STOP_WORDS)
