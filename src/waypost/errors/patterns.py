"""Patterns: errors that came again, what they had in common, and what ended them.

A pattern is two or more errors of one signature. Its common context is what was present in at
least four fifths of them and at most half as often around other errors. A recommendation is a
recovery that was recorded and after which the error did not return, with the count; where nothing
was seen to work there is none. Pure functions over records, oldest first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from waypost.model import ErrorPattern, ErrorRecord, Recommendation, Trend
from waypost.stages.compress.words import tokenize

OCCURRENCES = 2
PRESENT = 0.8
_RARER = 0.5
_MOST_CONTEXT = 6
_WORKS_FROM = 0.5
_RISING, _FALLING = 2 / 3, 3 / 2


def find_patterns(
    errors: Sequence[ErrorRecord], evidence: Sequence[ErrorRecord] | None = None
) -> list[ErrorPattern]:
    """The patterns among errors, the most severe and frequent first.

    ``evidence`` are further errors (of other tasks, of earlier stages) from which to learn what
    was rare elsewhere and which recoveries worked; the errors themselves when not given.
    """
    known = list(evidence) if evidence is not None else list(errors)
    groups: dict[tuple[str, int], list[ErrorRecord]] = defaultdict(list)
    for error in errors:
        groups[error.signature, error.signature_version].append(error)
    found = [_pattern(group, known) for group in groups.values() if len(group) >= OCCURRENCES]
    return sorted(found, key=lambda p: (-p.max_severity, -p.occurrences, p.signature))


def _pattern(group: list[ErrorRecord], known: Sequence[ErrorRecord]) -> ErrorPattern:
    severities = [error.error_severity for error in group]
    others = [error for error in known if error.signature != group[0].signature]
    last = group[-1]
    return ErrorPattern(
        signature=last.signature,
        error_type=last.error_type,
        description=_first_line(last.error_description),
        tool=last.tool or last.action,
        occurrences=len(group),
        avg_severity=round(sum(severities) / len(severities), 4),
        max_severity=max(severities),
        common_context=common_context(group, others),
        trend=trend([error.recorded_at for error in group]),
        is_open=last.resolved is not True,
        recommendation=recommend(last.signature, known),
        error_ids=tuple(error.error_id for error in group),
        memory_ids=tuple(dict.fromkeys(e.memory_id for e in group if e.memory_id)),
        first_seen=group[0].recorded_at,
        last_seen=last.recorded_at,
    )


def caution_text(pattern: ErrorPattern) -> str:
    """A pattern in one sentence, for an agent about to make the same mistake."""
    where = f" in {pattern.tool}" if pattern.tool else ""
    around = f" Common: {', '.join(pattern.common_context)}." if pattern.common_context else ""
    advice = f" What worked: {pattern.recommendation.text}." if pattern.recommendation else ""
    return f"{pattern.occurrences} times{where}: {pattern.description}.{around}{advice}"


def error_text(error: ErrorRecord) -> str:
    """A single error in one sentence, with what was done about it."""
    where = f" in {error.tool or error.action}" if error.tool or error.action else ""
    tried = f" Tried: {error.recovery_action}." if error.recovery_action else ""
    return f"{error.error_type}{where}: {_first_line(error.error_description)}.{tried}"


def common_context(group: Sequence[ErrorRecord], others: Sequence[ErrorRecord]) -> tuple[str, ...]:
    """What nearly all errors of a group had around them and other errors mostly had not."""
    here = Counter(feature for error in group for feature in set(_features(error)))
    there = Counter(feature for error in others for feature in set(_features(error)))
    found = []
    for feature, text in _features(group[-1]).items():
        share = here[feature] / len(group)
        elsewhere = there[feature] / len(others) if others else 0.0
        if share >= PRESENT and elsewhere <= share * _RARER:
            found.append(text)
    return tuple(dict.fromkeys(found))[:_MOST_CONTEXT]


def _features(error: ErrorRecord) -> dict[str, str]:
    """What was present: the content words of the context and the plain fields of the metadata."""
    found = {
        token.form: token.text
        for token in tokenize(error.context_when_occurred)
        if token.is_content
    }
    for key, value in error.metadata.items():
        if isinstance(value, str | int | float | bool):
            found[f"{key}={value}"] = f"{key}={value}"
    return found


def trend(times: Sequence[datetime]) -> Trend:
    """Whether the gaps between occurrences get shorter (rising) or longer (falling)."""
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    if len(gaps) < 2:
        return Trend.STEADY
    half = len(gaps) // 2
    early = sum(gaps[:half]) / half
    late = sum(gaps[-half:]) / half
    if late < early * _RISING:
        return Trend.RISING
    return Trend.FALLING if late > early * _FALLING else Trend.STEADY


def recommend(signature: str, known: Sequence[ErrorRecord]) -> Recommendation | None:
    """The recovery most often followed by no recurrence, if any was."""
    worked: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    wording: dict[str, str] = {}
    for place, error in enumerate(known):
        if error.signature != signature or not error.recovery_action:
            continue
        ended = _ended(error, known[place + 1 :])
        if ended is not None:
            key = " ".join(token.form for token in tokenize(error.recovery_action))
            wording[key] = error.recovery_action
            tried[key] += 1
            worked[key] += ended
    if not tried:
        return None
    best = max(tried, key=lambda key: (worked[key] / tried[key], worked[key], key))
    if worked[best] / tried[best] < _WORKS_FROM:
        return None
    return Recommendation(action=wording[best], worked=worked[best], tried=tried[best])


def _ended(error: ErrorRecord, later: Sequence[ErrorRecord]) -> bool | None:
    """Whether a recovery ended the error in its task; None while that cannot be known yet."""
    if error.resolved is False:
        return False
    same_task = [other for other in later if other.task_id == error.task_id]
    if any(other.signature == error.signature for other in same_task):
        return False
    return True if error.resolved or same_task else None


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), text)[:300]
