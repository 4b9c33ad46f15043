"""Which type and kind a memory has when the caller does not say.

The rules go from what is unmistakable (a traceback, a table) to what is said in words. Type follows
kind: what holds in general is semantic, what was done with success procedural, the rest happened
and is episodic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from waypost.encode.facts import fact_key, find_facts
from waypost.encode.sentences import split_sentences
from waypost.model import Action, MemoryType
from waypost.model import vocabulary as kinds

_READ = 4000

_ERROR = re.compile(
    r"Traceback \(most recent call last\)|^\w*(?:Error|Exception)\b: |\bexit (?:code|status) [1-9]"
    r"|\bpanic: |\bsegmentation fault\b|^\s+at [\w.$]+\([\w.]+:\d+\)",
    re.MULTILINE,
)
_FAILURE = re.compile(
    r"\b(?:failed (?:with|to|because|again)|fails (?:with|to|because)|did not work|didn't work"
    r"|does not work|doesn't work|broke (?:the|because)|root cause|lesson(?: learned)?:"
    r"|timed out|was rejected)",
    re.IGNORECASE,
)
_TOOL_LINE = re.compile(
    r"^(?:\s*[\[{\"}\]].*|\|.*\||.*\t.*\t.*|[^,\n]+(?:,[^,\n]+){3,}"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*|(?:INFO|WARN|WARNING|DEBUG|ERROR)\b.*|[$>] \S.*"
    r"|[-dl][rwx-]{9} .*|[+-]{3} .*|@@ .*)$"
)
_DECISION = re.compile(
    r"\b(?:we|I|they|team|have|has|it was) (?:have |has )?"
    r"(?:decided|chose|chosen|agreed|settled on)\b"
    r"|\b(?:going with|opted for|decision:|decided (?:to|on|that|against)|we will go with"
    r"|we'll go with)",
    re.IGNORECASE,
)
_CONVENTION = re.compile(
    r"^(?:please )?(?:always|never) \w+|\b(?:we|you should) (?:always|never)\b"
    r"|\b(?:convention|style|naming|coding standard)s?:|\bby convention\b|\bour convention\b",
    re.IGNORECASE | re.MULTILINE,
)
_CONSTRAINT = re.compile(
    r"\b(?:must(?: not|n't)?|do not|don't (?:use|touch|change|delete|deploy|exceed)|may not"
    r"|not allowed|forbidden|required to|at most|no more than|at least|within budget)\b"
    r"|\b(?:budget|deadline|limit|constraint)\b(?: is|:| of| =| ≤)",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\b(?:I|we|user|(?-i:[A-Z][a-z]+)) (?:really |always |also |strongly )?(?:prefers?|likes?"
    r"|loves?|hates?|dislikes?|enjoys?|would rather)\b|\bmy fav(?:ou)?rite\b|\bmy preference\b",
    re.IGNORECASE,
)
_PROCEDURE = re.compile(
    r"\b(?:how to|steps to"
    r"|to (?:deploy|build|run|install|fix|release|reproduce|set up)[^.\n]{0,60}[,:])"
    r"|^\s*(?:step )?1[.):] .+\n(?:.*\n)*?\s*(?:step )?2[.):] ",
    re.IGNORECASE | re.MULTILINE,
)

# Tried in this order: a decision may name a limit, a limit is rarely a decision.
_IN_WORDS = (
    (_FAILURE, MemoryType.EPISODIC, kinds.FAILURE),
    (_DECISION, MemoryType.SEMANTIC, kinds.DECISION),
    (_PROCEDURE, MemoryType.PROCEDURAL, kinds.STRATEGY),
    (_CONVENTION, MemoryType.SEMANTIC, kinds.CONVENTION),
    (_CONSTRAINT, MemoryType.SEMANTIC, kinds.CONSTRAINT),
    (_PREFERENCE, MemoryType.SEMANTIC, kinds.PREFERENCE),
)
_TYPE_OF_KIND = {
    kinds.STRATEGY: MemoryType.PROCEDURAL,
    **dict.fromkeys(
        (kinds.DECISION, kinds.CONVENTION, kinds.CONSTRAINT, kinds.PREFERENCE, kinds.FACT),
        MemoryType.SEMANTIC,
    ),
    kinds.PATTERN: MemoryType.SEMANTIC,
}


def route(
    text: str,
    *,
    actions: Sequence[Action] = (),
    success: bool | None = None,
    kind: str | None = None,
) -> tuple[MemoryType, str]:
    """Choose type and kind for a text; a kind that is given stays and decides the type."""
    if kind is not None:
        return _TYPE_OF_KIND.get(kind, MemoryType.EPISODIC), kind
    if actions:
        return _route_actions(success)
    read = text[:_READ]
    if _ERROR.search(read):
        return MemoryType.EPISODIC, kinds.ERROR
    if _is_tool_output(read):
        return MemoryType.EPISODIC, kinds.TOOL_OUTPUT
    return _route_words(read)


def _route_actions(success: bool | None) -> tuple[MemoryType, str]:
    if success:
        return MemoryType.PROCEDURAL, kinds.STRATEGY
    return MemoryType.EPISODIC, kinds.INTERACTION if success is None else kinds.FAILURE


def _is_tool_output(text: str) -> bool:
    """True when most lines look printed by a program rather than said."""
    lines = [line for line in text.splitlines()[:40] if line.strip()]
    hits = sum(1 for line in lines if _TOOL_LINE.match(line[:400]))
    return bool(lines) and (hits * 2 > len(lines)) and (hits >= 2 or text.lstrip()[0] in "[{")


def _route_words(text: str) -> tuple[MemoryType, str]:
    asked = text.rstrip().endswith("?")
    for pattern, memory_type, kind in _IN_WORDS:
        if not asked and pattern.search(text):
            return memory_type, kind
    sentences = split_sentences(text)
    if len(sentences) == 1 and any(fact_key(fact) for fact in find_facts(sentences)):
        return MemoryType.SEMANTIC, kinds.FACT
    return MemoryType.EPISODIC, kinds.NOTE
