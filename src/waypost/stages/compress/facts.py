"""Typed facts: what a summary must not lose, taken from one unit at a time.

A *value* fact is a number with its unit, a name, date, path, id, url or command, together with its
anchors: the content words beside it, left and right kept apart, so that swapping two names or
moving a number to another noun is a loss. A *statement* fact is a decision, constraint, outcome,
error, resolution, question or (where a person speaks) an assertion: its content words, its values
and whether it is negated.

Only what can be recognised by form is typed; the rules know no domain and no data set.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from waypost.stages.compress.units import Unit
from waypost.stages.compress.words import VALUES, Token, tokenize

WEIGHTS = {
    "decision": 3.0,
    "constraint": 3.0,
    "outcome": 3.0,
    "error": 3.0,
    "resolution": 3.0,
    "question": 2.0,
    "statement": 1.0,
    "command": 1.0,
    "number": 1.0,
    "date": 1.0,
    "name": 1.0,
    "id": 1.0,
    "path": 1.0,
    "url": 1.0,
    "email": 1.0,
    "symbol": 0.5,
    "listing": 0.5,
}
STATEMENTS = frozenset(
    ("decision", "constraint", "outcome", "error", "resolution", "question", "statement")
)
_ANCHORS = 2
# A statement with a cue needs two content words, a plain assertion three.
_FEWEST_WORDS = (2, 3)
_MAX_ERROR_LINE = 400

_CUES = (
    (
        "error",
        r"\b\w{1,60}(?:Error|Exception)\b|\bTraceback\b|\b(?:error|exception|fail(?:s|ed|ure|ing)?|fatal|"
        r"panic|denied|refused|timed out|timeout|crash(?:ed)?|not found|no such|unable to|"
        r"could not|couldn't|cannot be|invalid|unexpected|unauthori[sz]ed|forbidden)\b",
    ),
    (
        "resolution",
        r"\b(?:fixed|resolved|solved|worked around|workaround|the fix|by (?:adding|removing|"
        r"changing|replacing|installing|setting|using)|root cause|turned out|instead works)\b",
    ),
    (
        "decision",
        r"\b(?:decided?|decision|(?:we|I)(?:'ll| will) (?:not|use|keep|go with|switch)|"
        r"let's (?:use|go with|keep)|"
        r"(?:go|going|went) with|chose|chosen|choose|opt(?:ed)? for|settled on|switch(?:ed)? to|"
        r"instead of|approved|agreed to|recommend(?:ed)?|the plan is|strategy is)\b",
    ),
    (
        "constraint",
        r"\b(?:must(?: not|n't)?|never|always|cannot|can't|should(?: not|n't)|only|"
        r"at (?:most|least)|"
        r"no (?:more|less|later|earlier) than|required?|requires?|not allowed|forbidden|mandatory|"
        r"deadline|limit(?:ed)? (?:of|to)|within \d|before \d|up to \d|"
        r"do(?:es)? not want|don't want|"
        r"prohibited|maximum|minimum|budget)\b",
    ),
    (
        "outcome",
        r"\b(?:succe(?:eded|ssful(?:ly)?)|completed|finished|confirmed|booked|cancell?ed|created|"
        r"deployed|merged|updated|passed|results? in|"
        r"the (?:final )?(?:answer|result|total) (?:is|was)|"
        r"found that|we found|it works|now works|verified|done)\b",
    ),
)
_CUE_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _CUES)
_HARD_ERROR = re.compile(
    r"\b\w{1,60}(?:Error|Exception|Warning)\b\s*[:(]|^\s*(?:error|fatal|failed|failure|exception|panic)\b\W|"
    r"\b(?:ERROR|FATAL|CRITICAL|FAILED|PANIC)\b|\b(?:permission denied|no such file|not found|"
    r"connection refused|timed out|command not found)\b",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"\b(?:I|we)(?:'d| would)? (?:like|want|need|prefer)\b|\bplease\b|\bmy preference\b",
    re.IGNORECASE,
)
_LOUD = re.compile(r"\b(?:ERROR|FATAL|CRITICAL|FAILED|PANIC)\b|[a-z]Error\b|[a-z]Exception\b|[:!]")
_SOURCE_LINE = re.compile(r"[{};]\s*$|^\s*(?:[.#@]\w|//|def |class |import |from |return\b|if )")
_CODE_LINE = re.compile(r"^\s*(?:raise|except|catch|throw|print|assert|logger?\.\w+)\b|\bprint\(")
_RAISED = re.compile(r"\b\w{1,60}(?:Error|Exception)\b\s*:|\b(?:ERROR|FATAL|PANIC)\b")
_ASSERTS = re.compile(
    r"\b(?:I|we|he|she|they|my|our|his|her|their)\b|\b(?:is|are|was|were|has|had|have)\b",
    re.IGNORECASE,
)
_MARKED_QUESTION = re.compile(
    r"\b(?:TODO|FIXME|open question|unclear|unknown whether|to be decided|not yet known|"
    r"need(?:s)? to (?:check|verify|confirm|find out))\b",
    re.IGNORECASE,
)
# An assistant's courtesies and announcements: they ask, offer or introduce, and state nothing.
_OFFER = re.compile(
    r"\b(?:let me know|feel free|don't hesitate|(?:happy|glad|here) to (?:help|assist)|"
    r"please (?:confirm|provide|specify|tell me|choose|select)|would you like)\b|"
    r"\bif (?:you|there)\b[^.]{0,160}\b(?:assist\w*|help|questions?|concerns?)\b|:\s*$",
    re.IGNORECASE,
)
_CAPITAL = re.compile(r"[A-Z][\w'’-]*\Z")


@dataclass(frozen=True, slots=True)
class TypedFact:
    """One fact as it stands in one unit. ``forms`` are a value's words or a statement's content.

    ``span`` is the part of the unit that holds a value together with its anchors.
    """

    kind: str
    forms: tuple[str, ...]
    unit: str = ""
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()
    negated: bool = False
    text: str = ""
    span: tuple[int, int] = (0, 0)

    @property
    def is_statement(self) -> bool:
        return self.kind in STATEMENTS

    @property
    def key(self) -> tuple[str, tuple[str, ...], str]:
        """What makes two facts one: the value and its unit, or a statement's set of words."""
        if self.is_statement:
            return "statement", tuple(sorted(set(self.forms))), str(self.negated)
        return "value", self.forms, self.unit


def extract(unit: Unit, *, bulk: bool, personal: bool) -> list[TypedFact]:
    """The typed facts of a unit; in bulk output only errors are statements."""
    tokens = tokenize(unit.text)
    content = [token for token in tokens if token.is_content]
    if not content:
        return []
    found = [_value_fact(content, place, size) for place, size in _value_places(content, tokens)]
    if unit.shape == "command":
        found.append(
            TypedFact("command", tuple(token.form for token in content[:8]), text=unit.text)
        )
    kind = statement_kind(unit, bulk=bulk, personal=personal)
    if kind and len(content) >= _FEWEST_WORDS[kind == "statement"]:
        found.append(_statement(kind, unit.text, tokens, content))
    return found


def statement_kind(unit: Unit, *, bulk: bool, personal: bool) -> str | None:
    """What a unit states, if it states something that binds, ends, breaks or asks."""
    text = unit.text
    if unit.shape == "command":
        return None
    if bulk or unit.shape != "prose":
        return "error" if _is_error_line(text) else None
    if text.rstrip("\"')* ").endswith("?") or _MARKED_QUESTION.search(text):
        return "question"
    if not personal and _OFFER.search(text):
        return None
    for kind, pattern in _CUE_PATTERNS:
        if pattern.search(text):
            return kind
    if personal and _WISH.search(text):
        return "constraint"
    return "statement" if personal and _ASSERTS.search(text) else None


def _is_error_line(text: str) -> bool:
    """Whether a line of output reports a failure, rather than having the word in code or style."""
    if len(text) > _MAX_ERROR_LINE or not (_HARD_ERROR.search(text) and _LOUD.search(text)):
        return False
    if _CODE_LINE.search(text):
        return False
    return not _SOURCE_LINE.search(text) or _RAISED.search(text) is not None


def is_marked_question(text: str) -> bool:
    """Whether a text itself says that something is still open."""
    return _MARKED_QUESTION.search(text) is not None


def _value_places(content: list[Token], tokens: list[Token]) -> list[tuple[int, int]]:
    """Where values stand among the content tokens: position and length."""
    places = []
    place = 0
    while place < len(content):
        token = content[place]
        size = _name_length(content, place, tokens[0]) if token.kind == "word" else 1
        if size and (token.kind in VALUES or token.kind == "word"):
            places.append((place, size))
        place += max(size, 1)
    return places


def _name_length(content: list[Token], place: int, first: Token) -> int:
    """How many capitalised words from here form one name; a sentence's first word alone is none."""
    size = 0
    while place + size < len(content) and _continues_name(content, place, size):
        size += 1
    if size == 1 and content[place] is first and not content[place].text.isupper():
        return 0
    if size == 1 and len(content[place].text) < 2:
        return 0
    return size


def _continues_name(content: list[Token], place: int, size: int) -> bool:
    token = content[place + size]
    if token.kind != "word" or not _CAPITAL.match(token.text) or size >= 4:
        return False
    return not size or token.start - content[place + size - 1].end <= 2


def _value_fact(content: list[Token], place: int, size: int) -> TypedFact:
    token = content[place]
    after = place + size
    unit = token.unit
    if token.kind == "number" and not unit:
        unit = _noun_after(content, place)
    return TypedFact(
        kind="name" if token.kind == "word" else token.kind,
        forms=tuple(item.form for item in content[place:after]),
        unit=unit,
        left=tuple(item.form for item in content[max(0, place - _ANCHORS) : place]),
        right=tuple(item.form for item in content[after : after + _ANCHORS]),
        text=" ".join(item.text for item in content[place:after]),
        span=(
            content[max(0, place - _ANCHORS)].start,
            content[min(len(content), after + _ANCHORS) - 1].end,
        ),
    )


def _noun_after(content: list[Token], place: int) -> str:
    """The word directly behind a number: its unit or what is counted."""
    if place + 1 == len(content):
        return ""
    token = content[place + 1]
    adjacent = token.start - content[place].end <= 1
    return token.form if adjacent and token.kind == "word" else ""


def as_statement(text: str) -> TypedFact:
    """A whole text as one statement, whatever it is."""
    tokens = tokenize(text)
    return _statement("statement", text, tokens, [token for token in tokens if token.is_content])


def _statement(kind: str, text: str, tokens: list[Token], content: list[Token]) -> TypedFact:
    return TypedFact(
        kind=kind,
        forms=tuple(token.form for token in content),
        values=frozenset(token.form for token in content if token.kind in VALUES),
        negated=any(token.negates for token in tokens),
        text=text,
    )
