"""The core of the assembler: budget, determinism, stable head, forms."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from waypost.context.assemble import Material, assemble
from waypost.context.candidates import Candidate, StandIn, Version
from waypost.context.sections import Section
from waypost.model.context import ContextPackage, ContextProfile, Form, TierSplit
from waypost.model.vocabulary import Origin, Tier, Trust
from waypost.tokens import count_tokens

START = datetime(2026, 1, 1, tzinfo=UTC)
PIECES = [
    "the", " deploy", "failed", "\n", "  ", "/", "//x", "é", "日本語", "🙂", "1234567", "'s", "\t",
    ")", ").\n", "...", "\r\n", "<data", "- ", "@", "ALLCAPS", "snake_case", "\u00a0", "---", "Ω",
]  # fmt: skip


def candidate(entry_id: str, text: str = "some words", **changes: object) -> Candidate:
    base = Candidate(
        entry_id=entry_id,
        section=Section.KNOWLEDGE,
        tier=Tier.GLOBAL,
        versions=(Version(Form.RAW, text),),
        value=0.5,
        reason="test",
        timestamp=START,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def build(*candidates: Candidate, max_tokens: int = 1000, **options: object) -> ContextPackage:
    return assemble(
        Material(candidates, source_tokens=5000),
        agent_id="planner",
        max_tokens=max_tokens,
        profile=ContextProfile(),
        **options,  # type: ignore[arg-type]
    )


def random_candidate(chance: random.Random, number: int) -> Candidate:
    text = "".join(chance.choices(PIECES, k=chance.randint(1, 40)))
    versions = [Version(Form.RAW, text)]
    if chance.random() < 0.5:
        versions.append(Version(Form.SUMMARY, text[: len(text) // 3] or "x"))
    return Candidate(
        entry_id=f"m{number}",
        section=chance.choice(list(Section)),
        tier=chance.choice(list(Tier)),
        versions=tuple(versions),
        value=chance.random(),
        reason="test",
        timestamp=START + timedelta(days=chance.randint(0, 3)) if chance.random() < 0.8 else None,
        origin=chance.choice(list(Origin)),
        trust=chance.choice(list(Trust)),
        pinned=chance.random() < 0.2,
        stand_ins=(
            StandIn(f"s{number % 3}", Form.STAGE_SUMMARY, text[:20] or "x", START, Trust.LOW),
        )
        if chance.random() < 0.3
        else (),
        size=chance.choice((0, len(text) // 4, 500)),
    )


def test_ten_thousand_random_contexts_are_never_a_token_over_budget() -> None:
    chance = random.Random(2)
    for number in range(10_000):
        candidates = [random_candidate(chance, i) for i in range(chance.randint(0, 7))]
        encoding = "o200k_base" if number % 2 else "cl100k_base"
        package = assemble(
            Material(candidates),
            agent_id=f"agent {number % 7}",
            max_tokens=chance.randint(0, 320),
            profile=ContextProfile(encoding=encoding),
        )
        assert package.token_count == count_tokens(package.text, encoding)
        assert package.token_count <= package.max_tokens


def test_the_same_material_in_any_order_gives_the_same_bytes() -> None:
    chance = random.Random(3)
    candidates = [random_candidate(chance, number) for number in range(40)]
    first = build(*candidates, max_tokens=400)
    chance.shuffle(candidates)
    assert build(*candidates, max_tokens=400).text == first.text


def test_a_new_memory_leaves_the_head_alone_and_lands_at_the_end() -> None:
    goal = candidate("goal", "Goal: move the ledger", section=Section.TASK, pinned=True)
    old = [candidate(f"m{i}", f"fact number {i}", section=Section.PAST) for i in range(5)]
    new = candidate(
        "n", "a new fact", section=Section.PAST, timestamp=START + timedelta(days=1), value=0.9
    )
    before, after = build(goal, *old).text, build(goal, *old, new).text
    closing = before.rindex("</data")
    assert after[:closing] == before[:closing]
    assert after[closing:].startswith("@ 2026-01-02 agent/medium\n- a new fact\n")


def test_what_does_not_fit_in_full_is_shown_shorter() -> None:
    versions = (
        Version(Form.RAW, "long " * 500),
        Version(Form.SUMMARY, "a long story"),
    )
    package = build(candidate("m", versions=versions), max_tokens=200)
    assert [item.form for item in package.items] == [Form.SUMMARY]
    assert "- a long story" in package.text


def test_memories_that_find_no_room_are_represented_by_their_stage() -> None:
    stand_in = StandIn(
        "stage-1", Form.STAGE_SUMMARY, "Planning chose the blue route.", START, Trust.MEDIUM
    )
    many = [
        candidate(f"m{i}", f"step {i}: " + "detail " * 60, value=0.4, stand_ins=(stand_in,))
        for i in range(8)
    ]
    package = build(*many, max_tokens=300)
    assert [i.form for i in package.items if i.form is Form.STAGE_SUMMARY] == [Form.STAGE_SUMMARY]
    assert "Planning chose the blue route." in package.text


def test_a_task_summary_stands_in_where_even_the_stage_summary_is_too_long() -> None:
    stage = StandIn("stage-1", Form.STAGE_SUMMARY, "and then " * 500, START, Trust.MEDIUM)
    task = StandIn("task-1", Form.TASK_SUMMARY, "The ledger was moved.", START, Trust.LOW)
    many = [
        candidate(f"m{i}", f"step {i}: " + "detail " * 60, value=0.4, stand_ins=(stage, task))
        for i in range(8)
    ]
    package = build(*many, max_tokens=300)
    assert [item.form for item in package.items].count(Form.TASK_SUMMARY) == 1
    assert "derived/low\n- The ledger was moved." in package.text


def test_a_long_text_has_to_be_worth_more_than_the_short_ones_it_displaces() -> None:
    long = candidate("long", "word " * 600, value=0.6, size=600)
    short = [candidate(f"s{i}", f"short remark {i}", value=0.5, size=4) for i in range(60)]
    assert "long" not in {item.entry_id for item in build(long, *short, max_tokens=700).items}
    worth_it = replace(long, value=1.0, versions=(Version(Form.RAW, "word " * 200),), size=200)
    assert "long" in {item.entry_id for item in build(worth_it, *short, max_tokens=700).items}


def test_what_is_disputed_says_so() -> None:
    text = build(candidate("a", "the port is 1", disputed=True), candidate("b", "fine")).text
    assert "agent/medium disputed\n- the port is 1" in text
    assert "agent/medium\n- fine" in text


def test_each_tier_keeps_its_share_when_all_are_hungry() -> None:
    crowd = [
        candidate(f"{tier}{i}", f"{tier} remark {i} " + "word " * 20, tier=tier, value=value)
        for tier, value in ((Tier.TASK, 0.9), (Tier.PROJECT, 0.5), (Tier.GLOBAL, 0.1))
        for i in range(60)
    ]
    package = build(*crowd, max_tokens=1500)
    used = {use.tier: use.used for use in package.tiers}
    assert used[Tier.GLOBAL] > 0.12 * 1500
    assert used[Tier.PROJECT] > 0.3 * 1500
    assert sum(used.values()) > 0.8 * 1500


def test_a_tier_alone_may_use_the_whole_budget() -> None:
    crowd = [candidate(f"m{i:02}", f"remark {i} " + "word " * 20) for i in range(60)]
    package = build(
        *crowd, max_tokens=1000, split=TierSplit(**{"task": 0.5, "project": 0.5, "global": 0})
    )
    assert package.token_count > 900


def test_pinned_entries_come_before_more_valuable_ones() -> None:
    pinned = candidate("p", "must stay", value=0.0, pinned=True)
    rest = [candidate(f"m{i}", f"thing {i} " * 10, value=1.0) for i in range(30)]
    assert "- must stay" in build(pinned, *rest, max_tokens=150).text


def test_the_same_text_is_not_shown_twice() -> None:
    assert build(candidate("a", "same"), candidate("b", "same")).text.count("- same") == 1


def test_the_package_reports_ratio_and_what_was_left_out() -> None:
    package = build(*(candidate(f"m{i}", f"thing {i} " * 30) for i in range(20)), max_tokens=300)
    assert package.compression_ratio == round(5000 / package.token_count, 4)
    assert package.left_out == 20 - len(package.items) > 0


def test_no_candidates_or_no_room_give_an_empty_text() -> None:
    assert build().text == ""
    assert build(candidate("m"), max_tokens=10).text == ""
