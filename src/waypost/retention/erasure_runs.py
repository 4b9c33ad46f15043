"""Erasing content items of a source, and the records of runs in which it was seen.

What a model was shown at a step is kept for audit. A run that held content of the
source, that an erased memory belongs to, or that was shown a sentence of one, loses
its record as a whole: a replay with holes would be a forgery. The run itself stays,
with one event that says why it has no others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from waypost.content import blobs
from waypost.content.repository import drop_unneeded_chunks
from waypost.store.memories import chunks
from waypost.store.tables import content_blobs, content_items, memories, run_events

ERASED = "erased"
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_TELLING = 24
"""A sentence shorter than this may stand anywhere; a text without a longer one counts whole."""


@dataclass(frozen=True)
class Doomed:
    """What an erasure is about: a source, its memories with all derived from them, and their
    texts as far as they lie in the archive."""

    source: str
    ids: tuple[str, ...]
    archived_texts: tuple[str, ...] = ()


def erase_quoting_runs(
    connection: Connection, agent_id: str, doomed: Doomed, rows: dict[str, int], now: datetime
) -> int:
    """Erase the source's content items and every run record that shows erased text.

    The rows that went are added to ``rows``; the answer is the number of runs.
    """
    touched = _runs_of(connection, agent_id, doomed) | _quoting(connection, agent_id, doomed)
    rows["content_items"] = _erase_content(connection, agent_id, doomed.source)
    erased = [_erase_events(connection, agent_id, run_id, now) for run_id in sorted(touched)]
    rows["run_events"] = sum(erased)
    before = _chunk_count(connection, agent_id)
    drop_unneeded_chunks(connection, agent_id)
    rows["content_blobs"] = before - _chunk_count(connection, agent_id)
    return sum(map(bool, erased))


def _runs_of(connection: Connection, agent_id: str, doomed: Doomed) -> set[str]:
    """The runs that stored content of the source, and those the memories were made in."""
    held = select(content_items.c.run_id).where(
        content_items.c.agent_id == agent_id, content_items.c.source == doomed.source
    )
    found = set(connection.execute(held).scalars())
    for part in chunks(doomed.ids):
        made = select(memories.c.run_id).where(
            memories.c.agent_id == agent_id,
            memories.c.memory_id.in_(part),
            memories.c.run_id.is_not(None),
        )
        found.update(connection.execute(made).scalars())
    return found


def _texts(connection: Connection, agent_id: str, ids: Sequence[str]) -> Iterator[str]:
    for part in chunks(ids):
        statement = select(memories.c.content, memories.c.summary).where(
            memories.c.agent_id == agent_id, memories.c.memory_id.in_(part)
        )
        for content, summary in connection.execute(statement):
            yield from (content, summary)


def _digests(connection: Connection, agent_id: str, source: str) -> set[str]:
    statement = select(content_items.c.digest).where(
        content_items.c.agent_id == agent_id, content_items.c.source == source
    )
    return set(connection.execute(statement).scalars())


def _quoting(connection: Connection, agent_id: str, doomed: Doomed) -> set[str]:
    """The runs that were shown content of the source, or a sentence of an erased text."""
    texts = (*doomed.archived_texts, *_texts(connection, agent_id, doomed.ids))
    wanted = sorted({form for text in texts for one in sentences(text) for form in _forms(one)})
    contents = _digests(connection, agent_id, doomed.source)

    @cache
    def shows(digest: str) -> bool:
        data = blobs.whole(connection, agent_id, digest)
        return digest in contents or _holds(data.decode(errors="replace"), wanted)

    statement = select(run_events.c.run_id, run_events.c.payload).where(
        run_events.c.agent_id == agent_id
    )
    return {
        run_id
        for run_id, payload in connection.execute(statement).all()
        if _holds(json.dumps(payload, ensure_ascii=False), wanted)
        or any(map(shows, payload.get("digests", ())))
    }


def sentences(text: str) -> list[str]:
    """The parts of a text by which it can be recognised inside another."""
    parts = [part.strip() for part in _SENTENCE.split(text)]
    telling = [part for part in parts if len(part) >= _TELLING]
    return telling or [text.strip()]


def _forms(sentence: str) -> tuple[str, str]:
    """A sentence as it is and as it stands inside JSON."""
    return sentence, json.dumps(sentence, ensure_ascii=False)[1:-1]


def _holds(text: str, wanted: Sequence[str]) -> bool:
    return any(one in text for one in wanted if one)


def _erase_content(connection: Connection, agent_id: str, source: str) -> int:
    statement = delete(content_items).where(
        content_items.c.agent_id == agent_id, content_items.c.source == source
    )
    return connection.execute(statement).rowcount


def _erase_events(connection: Connection, agent_id: str, run_id: str, now: datetime) -> int:
    """Empty one run's record and say so in it; how many events it had."""
    own = (run_events.c.agent_id == agent_id, run_events.c.run_id == run_id)
    erased = connection.execute(delete(run_events).where(*own)).rowcount
    if erased:
        marker: dict[str, Any] = {
            "agent_id": agent_id, "run_id": run_id, "number": 1, "step": 0, "kind": ERASED,
            "payload": {"events": erased}, "at": now,
        }  # fmt: skip
        connection.execute(insert(run_events).values(marker))
    return erased


def _chunk_count(connection: Connection, agent_id: str) -> int:
    statement = select(func.count()).where(content_blobs.c.agent_id == agent_id)
    return int(connection.execute(statement).scalar_one())
