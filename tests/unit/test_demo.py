"""The tour that a newcomer sees first."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from rich.console import Console

import waypost
from waypost.demo.story import NOW, events
from waypost.demo.tour import QUESTIONS, Tour


async def tour_text() -> str:
    output = StringIO()
    async with waypost.open(":memory:", clock=lambda: NOW) as engine:
        await Tour(Console(file=output, width=100), engine.agent("planner")).run()
    return output.getvalue()


@pytest.fixture(scope="module")
def text() -> str:
    import asyncio

    return asyncio.run(tour_text())


def section(text: str, title: str) -> str:
    """What stands below one heading, up to the next."""
    return re.split(r"\n\S[^\n]* ─+\n", text.split(title, 1)[1], maxsplit=1)[0]


def test_it_answers_every_question_with_reasons(text: str) -> None:
    for question in QUESTIONS:
        answer = section(text, question)
        assert "relevance" in answer
        assert "found by" in answer
        assert "of the whole history" in answer


@pytest.mark.parametrize(
    ("question", "evidence"),
    list(zip(QUESTIONS, ("at most 10 minutes", "lower case", "half to even"), strict=True)),
)
def test_the_first_answer_holds_what_was_asked_for(text: str, question: str, evidence: str) -> None:
    first, _ = section(text, question).split("\n 2 ")
    assert evidence in " ".join(first.split())


def test_it_shows_a_fact_before_and_after_its_correction(text: str) -> None:
    corrected = section(text, "A fact that changed")
    assert "asked on Monday 10:12     → The cutover time is Thursday 06:00 UTC." in corrected
    assert "asked now                 → The cutover time is Friday 05:30 UTC." in corrected
    assert "supersede" in corrected


def test_it_keeps_to_one_hundred_columns(text: str) -> None:
    assert max(len(line) for line in text.splitlines()) <= 100


def test_the_story_is_told_in_order() -> None:
    times = [event["timestamp"] for event in events()]
    assert times == sorted(times)
    assert times[-1] < NOW


async def test_it_shows_the_same_every_time(text: str) -> None:
    def without_duration(shown: str) -> str:
        return re.sub(r"[\d.]+ s in all", "", shown)

    assert without_duration(await tour_text()) == without_duration(text)
