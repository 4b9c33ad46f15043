"""Signatures, severity, patterns and recommendations, on plain records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from waypost.errors.patterns import find_patterns, trend
from waypost.errors.severity import severity_of
from waypost.errors.signature import VERSION, signature_of
from waypost.model import ErrorRecord, Trend, new_id

START = datetime(2026, 6, 1, tzinfo=UTC)


def error(description: str, minute: float = 0, **values: Any) -> ErrorRecord:
    kind = values.pop("error_type", "execution")
    fields = {
        "error_id": new_id(),
        "agent_id": "planner",
        "task_id": "t",
        "error_type": kind,
        "error_description": description,
        "error_severity": 0.6,
        "signature": signature_of(kind, description, tool=values.get("tool")),
        "signature_version": VERSION,
        "recorded_at": START + timedelta(minutes=minute),
        **values,
    }
    return ErrorRecord.model_validate(fields)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("timeout after 30 s on host-7", "timeout after 45 s on host-9"),
        ("KeyError: 'name'", "KeyError: 'age'"),
        ("no such file: /srv/a.csv", "no such file: /tmp/deep/b.csv"),
        ("Order W42 was not found", "order W77 was not found"),
        ("Traceback:\n  File x\nValueError: bad row 3", "ValueError: bad row 19"),
    ],
)
def test_the_same_failure_with_other_values_has_the_same_signature(one: str, other: str) -> None:
    assert signature_of("execution", one) == signature_of("execution", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("timeout after 30 s", "permission denied on host-7"),
        ("KeyError: 'name'", "IndexError: 'name'"),
        ("the total is wrong", "the date is wrong"),
    ],
)
def test_different_failures_of_one_type_differ(one: str, other: str) -> None:
    assert signature_of("execution", one) != signature_of("execution", other)


def test_type_and_tool_are_part_of_the_signature() -> None:
    assert signature_of("logic", "bad") != signature_of("validation", "bad")
    assert signature_of("logic", "bad", tool="a") != signature_of("logic", "bad", tool="b")
    assert signature_of("logic", "bad", action="grep -r x") == signature_of(
        "logic", "bad", action="grep -i y"
    )


def test_a_long_message_still_fits_its_column() -> None:
    assert len(signature_of("x" * 64, "word " * 500, tool="y" * 255)) <= 255


def test_severity_follows_type_words_and_recovery() -> None:
    assert severity_of("constraint", "limit broken") > severity_of("validation", "limit broken")
    assert severity_of("execution", "fatal: data loss") > severity_of("execution", "it stopped")
    assert severity_of("execution", "rate limited, will retry") < severity_of("execution", "stop")
    assert severity_of("execution", "stop", recovered=True) < severity_of("execution", "stop")
    assert 0.0 <= severity_of("?", "") <= 1.0


def test_two_of_one_signature_are_a_pattern() -> None:
    (pattern,) = find_patterns([error("timeout after 30 s"), error("timeout after 9 s", 5)])
    assert pattern.occurrences == 2
    assert pattern.is_open


def test_two_unrelated_errors_of_one_type_are_none() -> None:
    assert find_patterns([error("timeout after 30 s"), error("the date is wrong", 5)]) == []


def test_common_context_is_what_nearly_all_had_and_others_had_not() -> None:
    errors = [
        error("timeout after 3 s", 0, context_when_occurred="large upload behind proxy on Monday"),
        error("timeout after 4 s", 1, context_when_occurred="large upload behind proxy, retried"),
        error("timeout after 5 s", 2, context_when_occurred="small upload behind proxy"),
        error("the date is wrong", 3, context_when_occurred="upload of a form"),
        error("the sum is wrong", 4, context_when_occurred="upload of a form"),
    ]
    (pattern,) = find_patterns(errors)
    assert "proxy" in pattern.common_context
    assert "upload" not in pattern.common_context
    assert "Monday" not in pattern.common_context


def test_common_context_reads_plain_metadata() -> None:
    errors = [error("timeout after 3 s", i, metadata={"region": "eu", "try": i}) for i in range(3)]
    (pattern,) = find_patterns(errors)
    assert pattern.common_context == ("region=eu",)


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        ([0, 60, 70, 75], Trend.RISING),
        ([0, 5, 10, 100], Trend.FALLING),
        ([0, 10, 20, 30], Trend.STEADY),
        ([0, 10], Trend.STEADY),
        ([0, 0, 0], Trend.STEADY),
    ],
)
def test_the_trend_is_read_from_the_gaps(minutes: list[int], expected: Trend) -> None:
    assert trend([START + timedelta(minutes=minute) for minute in minutes]) is expected


def test_a_recommendation_is_the_recovery_after_which_it_did_not_return() -> None:
    known = [
        error("timeout after 3 s", 0, recovery_action="retry", task_id="a"),
        error("timeout after 3 s", 1, recovery_action="retry", task_id="a"),
        error("timeout after 3 s", 2, recovery_action="use the mirror", task_id="a", resolved=True),
        error("timeout after 3 s", 3, recovery_action="use the mirror", task_id="b", resolved=True),
    ]
    (pattern,) = find_patterns(known)
    assert pattern.recommendation is not None
    assert pattern.recommendation.text == "use the mirror (no recurrence in 2 of 2)"


def test_without_a_recovery_that_worked_there_is_no_recommendation() -> None:
    failing = [error("timeout after 3 s", i, recovery_action="retry") for i in range(4)]
    (pattern,) = find_patterns(failing)
    assert pattern.recommendation is None


def test_a_recovery_nobody_has_seen_the_end_of_is_no_evidence() -> None:
    fresh = [error("timeout 3 s", 0), error("timeout 4 s", 1, recovery_action="use the mirror")]
    (pattern,) = find_patterns(fresh)
    assert pattern.recommendation is None


def test_a_pattern_is_closed_when_its_last_occurrence_was_resolved() -> None:
    (pattern,) = find_patterns([error("timeout 3 s"), error("timeout 4 s", 5, resolved=True)])
    assert not pattern.is_open


def test_severe_patterns_come_first() -> None:
    errors = [
        error("mild 1", 0, error_severity=0.2),
        error("mild 2", 1, error_severity=0.2),
        error("grave 1", 2, error_severity=0.9),
        error("grave 2", 3, error_severity=0.7),
    ]
    assert [pattern.max_severity for pattern in find_patterns(errors)] == [0.9, 0.2]
