"""A memory behaves as a few dictionaries would: hypothesis plays random lives against both.

The reference below is what the documentation promises, in its simplest form: no database, no
index, no batches. After every step the memory and the reference are asked the same questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

import waypost
from waypost import Engine, Stored
from waypost.exceptions import IdempotencyConflict, NotFound, VersionConflict
from waypost.testing import HashEmbedder

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
END = MONDAY + timedelta(days=30)

subjects = st.sampled_from(["staging port", "release day", "cache size"])
values = st.integers(1, 4)
times = st.integers(0, 12).map(lambda hours: MONDAY + timedelta(hours=hours))
projects = st.sampled_from([None, "shop", "blog"])
tags = st.sets(st.sampled_from(["a", "b", "ü"]), max_size=2).map(sorted)
words = st.lists(st.sampled_from(["deploy", "naïve", "日本", "100%", "o'clock"]), min_size=1)


@dataclass
class Entry:
    """One memory as the reference keeps it."""

    content: str
    timestamp: datetime
    project: str | None = None
    tags: list[str] = field(default_factory=list)
    subject: str | None = None
    until: datetime | None = None
    successor: str | None = None
    version: int = 1

    def holds(self, moment: datetime) -> bool:
        return self.timestamp <= moment and (self.until is None or moment < self.until)


class Reference:
    """What an agent's memory should hold."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.keys: dict[str, tuple[str, str]] = {}

    def holding(self, subject: str, project: str | None) -> list[str]:
        return [
            memory_id
            for memory_id, entry in self.entries.items()
            if (entry.subject, entry.project) == (subject, project) and entry.successor is None
        ]

    def add_fact(self, memory_id: str, entry: Entry) -> None:
        """The newer of two statements about the same thing closes the older one."""
        assert entry.subject is not None
        for other_id in self.holding(entry.subject, entry.project):
            other = self.entries[other_id]
            older, newer, newer_id = (
                (entry, other, other_id)
                if other.timestamp > entry.timestamp
                else (other, entry, memory_id)
            )
            older.until, older.successor = newer.timestamp, newer_id
            older.version += older is other
        self.entries[memory_id] = entry


class MemoryLife(RuleBasedStateMachine):
    """Random operations on one agent, each done on the memory and on the reference."""

    stored = Bundle("stored")
    engine: Engine
    runner: asyncio.Runner

    def __init__(self) -> None:
        super().__init__()
        self.memory = self.engine.agent(uuid4().hex)
        self.reference = Reference()

    def do(self, work: Any) -> Any:
        return self.runner.run(work)

    @rule(target=stored, text=words.map(" ".join), when=times, project=projects, tags=tags)
    def add_note(self, text: str, when: datetime, project: str | None, tags: list[str]) -> str:
        receipt: Stored = self.do(
            self.memory.add_memory(
                text, kind="note", type="episodic", timestamp=when, project_id=project, tags=tags
            )
        )
        assert not receipt.duplicate
        self.reference.entries[receipt.memory_id] = Entry(text, when, project, tags)
        return receipt.memory_id

    @rule(target=stored, subject=subjects, value=values, when=times, project=projects)
    def add_fact(self, subject: str, value: int, when: datetime, project: str | None) -> str:
        text = f"The {subject} is {value}"
        known = [
            memory_id
            for memory_id in self.reference.holding(subject, project)
            if self.reference.entries[memory_id].content == text
        ]
        receipt: Stored = self.do(self.memory.add_memory(text, timestamp=when, project_id=project))
        assert receipt.duplicate == bool(known)
        if known:
            assert [receipt.memory_id] == known
        else:
            fact = Entry(text, when, project, subject=subject)
            self.reference.add_fact(receipt.memory_id, fact)
        return receipt.memory_id

    @rule(text=words.map(" ".join), key=st.sampled_from(["k1", "k2"]))
    def add_with_key(self, text: str, key: str) -> None:
        adding = self.memory.add_memory(
            text, kind="note", type="episodic", timestamp=MONDAY, idempotency_key=key
        )
        known_id, known_text = self.reference.keys.get(key, ("", text))
        if known_text != text:
            with pytest.raises(IdempotencyConflict):
                self.do(adding)
        elif known_id and known_id not in self.reference.entries:
            with pytest.raises(NotFound, match="deleted"):
                self.do(adding)
        else:
            receipt: Stored = self.do(adding)
            assert receipt.duplicate == bool(known_id)
            self.reference.keys[key] = (receipt.memory_id, text)
            self.reference.entries.setdefault(receipt.memory_id, Entry(text, MONDAY))

    @rule(memory_id=stored, tags=tags, behind=st.integers(0, 1))
    def retag(self, memory_id: str, tags: list[str], behind: int) -> None:
        entry = self.reference.entries.get(memory_id)
        expected = 1 if entry is None else entry.version - behind
        change = self.memory.update_memory(memory_id, tags=tags, expected_version=expected)
        if entry is None or behind:
            with pytest.raises(NotFound if entry is None else VersionConflict):
                self.do(change)
            return
        self.do(change)
        entry.tags, entry.version = tags, entry.version + 1

    @rule(memory_id=stored)
    def forget(self, memory_id: str) -> None:
        forgetting = self.memory.forget_memory(memory_id)
        if memory_id not in self.reference.entries:
            with pytest.raises(NotFound):
                self.do(forgetting)
            return
        self.do(forgetting)
        del self.reference.entries[memory_id]

    @rule(subject=subjects, project=projects)
    def recall_what_holds(self, subject: str, project: str | None) -> None:
        where = {"project_id": project} if project else {"tier": "global"}
        recall = self.do(
            self.memory.retrieve_memories(subject, k=100, where=where, now=END, track_access=False)
        )
        found = {one.memory_id for one in recall if one.memory.kind == "fact"}
        held = set(self.reference.holding(subject, project))
        assert held <= found
        assert len(held) <= 1
        assert all(self.reference.entries[one].successor is None for one in found)

    @rule(subject=subjects, moment=times)
    def recall_what_held(self, subject: str, moment: datetime) -> None:
        recall = self.do(
            self.memory.retrieve_memories(subject, k=100, as_of=moment, kinds=("fact",), now=END)
        )
        assert {one.memory_id for one in recall if subject in one.memory.content} == {
            memory_id
            for memory_id, entry in self.reference.entries.items()
            if entry.subject == subject and entry.holds(moment)
        }

    @rule(tag=st.sampled_from(["a", "b", "ü"]))
    def list_by_tag(self, tag: str) -> None:
        listed = self.do(self.memory.list_memories({"tags": {"$contains": tag}}, limit=1000))
        assert {one.memory_id for one in listed} == {
            memory_id for memory_id, entry in self.reference.entries.items() if tag in entry.tags
        }

    @invariant()
    def both_hold_the_same(self) -> None:
        listed = self.do(self.memory.list_memories(limit=1000))
        kept = {
            one.memory_id: Entry(
                one.content, one.timestamp, one.project_id, list(one.tags),
                self.reference.entries[one.memory_id].subject, one.valid_to, one.superseded_by,
                one.version,
            )
            for one in listed
        }  # fmt: skip
        assert kept == self.reference.entries

    def teardown(self) -> None:
        for memory_id, entry in self.reference.entries.items():
            events = self.do(self.memory.get_history(memory_id))
            assert [event.version for event in events] == list(range(1, entry.version + 1))


@pytest.fixture(params=["file", "postgres"])
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[type[MemoryLife]]:
    url = str(tmp_path / "memory.db")
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    with asyncio.Runner() as runner:

        async def opened() -> Engine:
            return await waypost.open(url, embedder=HashEmbedder(32), clock=lambda: MONDAY)

        engine = runner.run(opened())
        yield type("Life", (MemoryLife,), {"engine": engine, "runner": runner})
        runner.run(engine.close())


def test_a_memory_does_what_the_reference_says(life: type[MemoryLife]) -> None:
    run_state_machine_as_test(
        life,
        settings=settings(
            max_examples=20,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
