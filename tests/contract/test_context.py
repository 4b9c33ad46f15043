"""Contexts on every database: what is in them, for whom, and in which form."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.engines import InMemory, OnPostgres
from waypost import Engine, LinkKind, MemoryLink, MemoryManager, count_tokens
from waypost.exceptions import Forbidden, UnknownField
from waypost.model.context import ContextProfile, ContextRequest, Form

START = datetime(2026, 1, 1, tzinfo=UTC)
LONG = " ".join(f"The copy of chunk {n} took {n % 9} ms and was verified." for n in range(60))


def sections(text: str) -> list[str]:
    return [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]


class ContextSuite:
    async def test_all_seven_sections_stand_in_their_order(self, memory: MemoryManager) -> None:
        await fill_every_section(memory)
        package = await memory.get_relevant_context("How do we move the ledger?", "move")
        assert sections(package.text) == [
            "Current task",
            "Preferences and conventions",
            "Mistakes to avoid",
            "How it was done before",
            "Relevant knowledge",
            "Relevant past interactions",
            "Citations",
        ]
        assert "- Goal: Move the ledger to the new host" in package.text
        assert "- Constraint: no downtime" in package.text
        assert "- Stage: planning" in package.text
        assert package.token_count == count_tokens(package.text)

    async def test_every_entry_says_why_it_is_there(self, memory: MemoryManager) -> None:
        await fill_every_section(memory)
        package = await memory.get_relevant_context("How do we move the ledger?", "move")
        reasons = {item.section: item.reason for item in package.items}
        assert reasons["Current task"] == "the current task"
        assert reasons["Mistakes to avoid"].startswith("an error that came more than once")
        assert reasons["Citations"] == "cited by a memory that was recalled"
        assert {use.tier.value: use.used > 0 for use in package.tiers}["task"]
        assert package.compression_ratio > 0

    async def test_the_same_memories_and_query_give_the_same_bytes(
        self, engine: Engine, memory: MemoryManager
    ) -> None:
        await fill_every_section(memory)
        first = await memory.get_relevant_context("How do we move the ledger?", "move")
        await engine.tracker.flush()
        second = await memory.get_relevant_context("How do we move the ledger?", "move")
        assert second.text.encode() == first.text.encode()

    async def test_a_new_memory_keeps_the_fixed_head(self, memory: MemoryManager) -> None:
        await fill_every_section(memory)
        query = "How do we move the ledger?"
        before = (await memory.get_relevant_context(query, "move")).text
        await memory.add_memory("The ledger moved at noon, in three parts.", task_id="move")
        after = (await memory.get_relevant_context(query, "move")).text
        head = before[: before.index("## Relevant past interactions")]
        assert after.startswith(head)
        assert after != before

    async def test_the_newest_are_shown_in_full_and_older_ones_in_a_line(
        self, memory: MemoryManager
    ) -> None:
        for number in range(6):
            await memory.add_memory(
                f"Step {number} moved {number}00 rows out. {LONG}", task_id="t", kind="note",
                timestamp=START + timedelta(hours=number),
            )  # fmt: skip
        profile = ContextProfile(window=2, head=0, tail=0)
        package = await memory.get_relevant_context("", "t", 20_000, profile=profile)
        forms = {item.timestamp: item.form for item in package.items}
        assert [form for _, form in sorted(forms.items(), key=str)] == [
            Form.SUMMARY, Form.SUMMARY, Form.RAW, Form.RAW,
        ]  # fmt: skip

    async def test_the_first_and_last_memories_of_a_task_stay_whatever_is_asked(
        self, memory: MemoryManager
    ) -> None:
        for number in range(30):
            moment = START + timedelta(hours=number)
            await memory.add_memory(f"Note {number} on cats", task_id="t", timestamp=moment)
        profile = ContextProfile(head=1, tail=2, window=2)
        package = await memory.get_relevant_context("Note 12", "t", 160, profile=profile)
        for kept in ("Note 0 on cats", "Note 28 on cats", "Note 29 on cats", "Note 12 on cats"):
            assert f"- {kept}\n" in package.text

    async def test_what_was_replaced_is_not_shown_as_if_it_held(
        self, memory: MemoryManager
    ) -> None:
        for port in (8443, 9443):
            await memory.add_memory(
                f"The staging port is {port}.", kind="fact", type="semantic", task_id="t"
            )
        text = (await memory.get_relevant_context("Which port does staging use?", "t")).text
        assert "9443" in text
        assert "8443" not in text

    async def test_a_context_of_the_past_shows_nothing_later(self, memory: MemoryManager) -> None:
        for day, word in enumerate(("first", "second", "third")):
            moment = START + timedelta(days=day)
            await memory.add_memory(f"The {word} inspection passed", task_id="t", timestamp=moment)
        as_of = START + timedelta(days=1, hours=1)
        text = (await memory.get_relevant_context("inspections?", "t", as_of=as_of)).text
        assert "second inspection" in text
        assert "third inspection" not in text

    async def test_memories_of_an_earlier_task_are_represented_by_their_summaries(
        self, memory: MemoryManager
    ) -> None:
        await memory.start_task("Copy the ledger", task_id="old")
        for number in range(20):
            await memory.add_memory(
                f"We decided to copy ledger part {number} at {number} o'clock. {LONG}",
                task_id="old",
            )
        await memory.complete_stage("old")
        package = await memory.get_relevant_context("When is the ledger copied?", max_tokens=450)
        stand_ins = [item for item in package.items if item.form is Form.STAGE_SUMMARY]
        assert [item.origin for item in stand_ins] == ["derived"]
        assert package.token_count <= 450

    async def test_a_task_is_not_read_for_another_project(self, memory: MemoryManager) -> None:
        await memory.start_task("Open the vault", task_id="t", project_id="bank")
        await memory.add_memory("The code is 7", task_id="t")
        await memory.add_memory("Unstarted, but the bank's", task_id="u", project_id="bank")
        for task_id in ("t", "u"):
            with pytest.raises(Forbidden, match="'bank'"):
                await memory.get_relevant_context("code?", task_id, project_id="shop")

    async def test_another_projects_memory_is_not_shown_even_when_it_comes_meanwhile(
        self, memory: MemoryManager
    ) -> None:
        await memory.add_memory("The shop opens at nine", project_id="shop")
        request = ContextRequest(query="When does it open?", project_id="shop")
        collected = await memory.assembler.collect(None, request)
        await memory.add_memory("The bank opens at ten", project_id="bank")
        late = await memory.retrieve_memories("When does it open?")
        found = replace(collected.found, recalled=late.memories)
        assert "bank" not in memory.assembler.format(replace(collected, found=found)).text

    async def test_a_memory_that_cannot_be_read_gives_a_degraded_context(
        self, engine: Engine, memory: MemoryManager
    ) -> None:
        await memory.add_memory("Something")
        await engine.close()
        package = await memory.get_relevant_context("anything", "t")
        assert (package.text, package.degraded) == ("", True)
        assert "could not be read" in package.reasons[0]

    async def test_an_unknown_field_in_a_filter_is_an_error_even_without_a_question(
        self, memory: MemoryManager
    ) -> None:
        with pytest.raises(UnknownField, match="colour"):
            await memory.get_relevant_context("", where={"colour": "blue"})

    async def test_zero_tokens_give_an_empty_text(self, memory: MemoryManager) -> None:
        await memory.add_memory("Something")
        package = await memory.get_relevant_context("anything", max_tokens=0)
        assert (package.text, package.token_count) == ("", 0)


async def fill_every_section(memory: MemoryManager) -> None:
    await memory.start_task("Move the ledger to the new host", task_id="move",
                            constraints=["no downtime"], project_id="bank")  # fmt: skip
    await memory.start_stage("move", "planning")
    await memory.global_memory().add_preference("Answer in short sentences", "style")
    project = memory.project("bank")
    await project.add_decision("The ledger moves by logical replication")
    await project.add_pattern("Move a ledger: expand, copy, switch, contract", "migrations")
    page = await memory.content("r").store("PAGE " * 400, source="wiki", title="Moving ledgers")
    cites = MemoryLink(kind=LinkKind.CITES, target_id=page.content_id)
    details: dict[str, Any] = {"kind": "message", "task_id": "move", "links": [cites]}
    await memory.add_memory("The wiki says how to move the ledger", **details)
    for _ in range(2):
        await memory.record_error("tool", "psql: disk full on the new host", task_id="move")


class TestContextInMemory(ContextSuite, InMemory):
    pass


class TestContextOnPostgres(ContextSuite, OnPostgres):
    pass
