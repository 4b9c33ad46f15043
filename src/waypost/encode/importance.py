"""How much a memory is likely to matter, from 0 to 1, before anyone has used it."""

from __future__ import annotations

import re

from waypost.encode.cues import cue
from waypost.model import vocabulary as kinds

_READ = 4000
_OF_KIND = {
    kinds.CONSTRAINT: 0.8,
    kinds.DECISION: 0.8,
    kinds.FAILURE: 0.75,
    kinds.ERROR: 0.75,
    kinds.CONVENTION: 0.7,
    kinds.STRATEGY: 0.7,
    kinds.PATTERN: 0.7,
    kinds.PREFERENCE: 0.65,
    kinds.FACT: 0.65,
    kinds.INTERACTION: 0.5,
    kinds.REASONING: 0.45,
    kinds.NOTE: 0.4,
    kinds.MESSAGE: 0.4,
    kinds.TOOL_OUTPUT: 0.35,
}
_CORRECTION = cue(
    "longer instead correction actually changed now not wrong mistake switched remember",
    r"\b(?:no longer|instead of|correction|actually|changed (?:from|to)|is now|are now|not \w+ but"
    r"|wrong|mistake|switched|from now on|remember)\b",
)
_URGENT = cue(
    "must never critical important urgent deadline security password production loss blocked"
    " outage",
    r"\b(?:must|never|critical|important|urgent|deadline|security|password|production|data loss"
    r"|blocked|outage)\b",
)
_DIGIT = re.compile(r"\d")
_CHAT = re.compile(
    r"^\W*(?:hi|hey|hello|thanks|thank you|ok|okay|sure|great|cool|nice|wow|bye"
    r"|good (?:morning|night)|see you|sounds good|haha|lol|yes|no|yeah|yep)\b",
    re.IGNORECASE,
)


def estimate_importance(text: str, kind: str = kinds.NOTE) -> float:
    """Estimate how much a text of that kind will matter; rounded, so that ties stay ties."""
    read = text[:_READ]
    value = _OF_KIND.get(kind, 0.45)
    if _CORRECTION.is_in(read):
        value += 0.1
    if _URGENT.is_in(read):
        value += 0.1
    if _DIGIT.search(read):
        value += 0.05
    if len(text) < 80 and _CHAT.match(text):
        value -= 0.25
    return round(min(max(value, 0.05), 1.0), 2)
