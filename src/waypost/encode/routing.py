"""Which type and kind a memory has when the caller does not say.

The rules go from what is unmistakable (a traceback, a table) to what is said in words. Type follows
kind: what holds in general is semantic, what was done with success procedural, the rest happened
and is episodic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from waypost.encode.cues import cue
from waypost.encode.facts import fact_key, find_facts
from waypost.encode.sentences import split_sentences
from waypost.model import Action, Fact, MemoryType
from waypost.model import vocabulary as kinds

_READ = 4000

# One of these is in every text that the pattern below matches.
_ERROR_SIGNS = ("Traceback (", "Error: ", "Exception: ", "exit ", "panic: ", "segmentation ", "(")
_ERROR = re.compile(
    r"Traceback \(most recent call last\)|^\w*(?:Error|Exception)\b: |\bexit (?:code|status) [1-9]"
    r"|\bpanic: |\bsegmentation fault\b|^\s+at [\w.$]+\([\w.]+:\d+\)",
    re.MULTILINE,
)
_FAILURE = cue(
    "failed fails did didn does doesn broke root lesson timed rejected",
    r"\b(?:failed (?:with|to|because|again)|fails (?:with|to|because)|did not work|didn't work"
    r"|does not work|doesn't work|broke (?:the|because)|root cause|lesson(?: learned)?:"
    r"|timed out|was rejected\b)",
)
_TOOL_LINE = re.compile(
    r"^(?:\s*[\[{\"}\]].*|\|.*\||.*\t.*\t.*|[^,\n]+(?:,[^,\n]+){3,}"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*|(?:INFO|WARN|WARNING|DEBUG|ERROR)\b.*|[$>] \S.*"
    r"|[-dl][rwx-]{9} .*|[+-]{3} .*|@@ .*)$"
)
_DECISION = cue(
    "decided chose chosen agreed settled going opted decision go",
    r"\b(?:we|I|they|team|have|has|it was) (?:have |has )?"
    r"(?:decided|chose|chosen|agreed|settled on)\b"
    r"|\b(?:going with|opted for|decision:|decided (?:to|on|that|against)|we will go with"
    r"|we'll go with)",
)
_CONVENTION = cue(
    "always never convention conventions style styles naming namings standard standards",
    r"^(?:please )?(?:always|never) \w+|\b(?:we|you should) (?:always|never)\b"
    r"|\b(?:convention|style|naming|coding standard)s?:|\bby convention\b|\bour convention\b",
    re.IGNORECASE | re.MULTILINE,
)
_CONSTRAINT = cue(
    "must mustn do don may allowed forbidden required most more least within budget deadline"
    " limit constraint",
    r"\b(?:must(?: not|n't)?|do not|don't (?:use|touch|change|delete|deploy|exceed)|may not"
    r"|not allowed|forbidden|required to|at most|no more than|at least|within budget)\b"
    r"|\b(?:budget|deadline|limit|constraint)\b(?: is|:| of| =| ≤)",
)
_PREFERENCE = cue(
    "prefer prefers like likes love loves hate hates dislike dislikes enjoy enjoys rather"
    " favrite favourite preference",
    r"\b(?:I|we|user|(?-i:[A-Z][a-z]+)) (?:really |always |also |strongly )?(?:prefers?|likes?"
    r"|loves?|hates?|dislikes?|enjoys?|would rather)\b|\bmy fav(?:ou)?rite\b|\bmy preference\b",
)
_PROCEDURE = cue(
    "how steps deploy build run install fix release reproduce set 2",
    r"\b(?:how to|steps to"
    r"|to (?:deploy|build|run|install|fix|release|reproduce|set up)\b[^.\n]{0,60}[,:])"
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
    facts: Sequence[Fact] | None = None,
) -> tuple[MemoryType, str]:
    """Choose type and kind for a text; a kind that is given stays and decides the type.

    ``facts`` are those of the text when they are known already.
    """
    if kind is not None:
        return _TYPE_OF_KIND.get(kind, MemoryType.EPISODIC), kind
    if actions:
        return _route_actions(success)
    read = text[:_READ]
    if any(sign in read for sign in _ERROR_SIGNS) and _ERROR.search(read):
        return MemoryType.EPISODIC, kinds.ERROR
    if _is_tool_output(read):
        return MemoryType.EPISODIC, kinds.TOOL_OUTPUT
    return _route_words(read, facts)


def _route_actions(success: bool | None) -> tuple[MemoryType, str]:
    if success:
        return MemoryType.PROCEDURAL, kinds.STRATEGY
    return MemoryType.EPISODIC, kinds.INTERACTION if success is None else kinds.FAILURE


def _is_tool_output(text: str) -> bool:
    """True when most lines look printed by a program rather than said."""
    lines = [line for line in text.splitlines()[:40] if line.strip()]
    structured = text.lstrip()[:1] in ("[", "{")
    if len(lines) < 2 and not structured:
        return False
    hits = sum(1 for line in lines if _TOOL_LINE.match(line[:400]))
    return (hits * 2 > len(lines)) and (hits >= 2 or structured)


def _route_words(text: str, facts: Sequence[Fact] | None) -> tuple[MemoryType, str]:
    asked = text.rstrip().endswith("?")
    for sign, memory_type, kind in () if asked else _IN_WORDS:
        if sign.is_in(text):
            return memory_type, kind
    if facts is None:
        facts = find_facts(split_sentences(text))
    if any(map(fact_key, facts)) and len(split_sentences(text)) == 1:
        return MemoryType.SEMANTIC, kinds.FACT
    return MemoryType.EPISODIC, kinds.NOTE
