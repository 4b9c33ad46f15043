"""How bad an error is, from 0 to 1, when the caller does not say."""

from __future__ import annotations

import re

SEVERE = 0.8
"""From here on an error is critical: its task is told of it until it is resolved."""

_OF_TYPE = {"constraint": 0.7, "execution": 0.6, "logic": 0.6, "validation": 0.5}
_UNKNOWN_TYPE = 0.5
_WORSE = re.compile(
    r"\b(?:data loss|lost|corrupt\w*|security|breach|leak(?:ed)?|fatal|panic|critical|crash\w*|"
    r"out of memory|irrecoverable|unrecoverable|irreversible|deleted|production|unauthori[sz]ed|"
    r"segmentation fault|wrong answer|fabricat\w*|hallucinat\w*)\b",
    re.IGNORECASE,
)
_MILDER = re.compile(
    r"\b(?:warning|deprecat\w*|transient|retry|retried|retrying|rate limit\w*|temporar\w*|minor|"
    r"cosmetic|typo|formatting)\b",
    re.IGNORECASE,
)


def severity_of(
    error_type: str, description: str, context: str = "", *, recovered: bool = False
) -> float:
    """Compute a severity from the type, the words used, and whether it was recovered from."""
    value = _OF_TYPE.get(error_type.strip().lower(), _UNKNOWN_TYPE)
    text = f"{description}\n{context}"
    if _WORSE.search(text):
        value += 0.3
    if _MILDER.search(text):
        value -= 0.2
    if recovered:
        value -= 0.1
    return round(min(1.0, max(0.1, value)), 2)
