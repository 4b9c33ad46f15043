"""Every wording that decides a kind or an importance still does so with words asked for first."""

from __future__ import annotations

import pytest

from waypost.encode.importance import estimate_importance
from waypost.encode.routing import route


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (
            "failure",
            "It failed with a shrug|It fails because of rust|It DID NOT WORK at all|It didn't work"
            "|It does not work here|It doesn't work|That broke the lock|The root cause was rust"
            "|Lesson learned: sleep|The call timed out|My wish was rejected",
        ),
        (
            "decision",
            "We decided on blue|They have chosen tea|The team settled on tea|I am going with tea"
            "|She opted for tea|Decision: tea|We will go with tea|We'll go with tea",
        ),
        (
            "strategy",
            "This is how to knit|The steps to bake it|To deploy it, pull the lever"
            "|1. Knead\n2. Bake",
        ),
        (
            "convention",
            "Never whistle indoors|Please always knock|We always knock|Naming: use nouns"
            "|Coding standards: be brief|By convention they knock",
        ),
        (
            "constraint",
            "It must be blue|It mustn't be blue|Do not whistle|Don't touch the lever"
            "|You may not whistle|That is forbidden|It is not allowed|At most two of them"
            "|No more than two|At least two|Keep it within budget|The limit: two",
        ),
        (
            "preference",
            "I like tea|We really love tea|The user dislikes tea|Anna would rather walk"
            "|My favourite of all|Such is my preference",
        ),
        ("error", "ValueError: no|exit code 3|panic: no|  at a.b(File.java:3)\n  at c.d(E.java:4)"),
        ("note", "A calm day by the river|What must we do?|Nothing of note"),
    ],
)
def test_each_wording_gives_its_kind(kind: str, texts: str) -> None:
    found = {text: route(text)[1] for text in texts.split("|")}
    assert found == dict.fromkeys(found, kind)


@pytest.mark.parametrize(
    "text",
    [
        "It is no longer blue",
        "Tea instead of milk",
        "Correction follows",
        "It is actually tea",
        "It changed to tea",
        "It is now tea",
        "Not tea but milk",
        "That was wrong",
        "A mistake of mine",
        "We switched",
        "From now on tea",
        "Remember the milk",
        "It must be",
        "Never again",
        "A critical lamp",
        "It is urgent",
        "The deadline nears",
        "Mind the security",
        "The password lies there",
        "In production",
        "There was data loss",
        "We are blocked",
        "An outage",
        "There are 2 of them",
    ],
)
def test_corrections_urgent_words_and_numbers_matter_more(text: str) -> None:
    assert estimate_importance(text) > estimate_importance("A calm day by the river")
