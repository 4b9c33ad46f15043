"""Finding and removing single memories in archived bundles.

Every bundle below the agent's prefix is looked at, also one that no entry refers
to because a pass was interrupted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, update

from waypost.model import LinkKind, new_id
from waypost.retention.archive import drop_entries, manifest_key
from waypost.retention.bundle import Line, agent_prefix, manifest, pack, unpack
from waypost.retention.objects import ObjectStore
from waypost.store.tables import archive_entries

BUNDLE = ".jsonl.gz"


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What has to be known of an archived memory to tell whether it came from a source."""

    memory_id: str
    object_key: str
    source: str | None
    derived_from: tuple[str, ...]

    @classmethod
    def of(cls, line: Line, object_key: str) -> Glimpse:
        values = line.values
        return cls(
            memory_id=line.memory_id,
            object_key=object_key,
            source=values["memory"]["source"],
            derived_from=tuple(
                link["target_id"]
                for link in values["links"]
                if link["source_id"] == line.memory_id and link["kind"] in DERIVING
            ),
        )


DERIVING = (LinkKind.PARENT.value, LinkKind.CITES.value)
"""The links that say: this text was made from that one."""


def touched_bundles(glimpses: Iterable[Glimpse], ids: set[str]) -> dict[str, bool]:
    """The bundles that hold any of these memories; True for those that hold nothing else."""
    held: dict[str, list[bool]] = defaultdict(list)
    for one in glimpses:
        held[one.object_key].append(one.memory_id in ids)
    return {key: all(doomed) for key, doomed in sorted(held.items()) if any(doomed)}


@dataclass(frozen=True)
class Replacement:
    """A bundle that has to go, and what of it stays under a new key."""

    old_key: str
    new_key: str
    lines: tuple[Line, ...]
    erased: tuple[str, ...]

    def move_entries(self, connection: Connection, agent_id: str) -> None:
        drop_entries(connection, agent_id, self.erased)
        connection.execute(
            update(archive_entries)
            .where(
                archive_entries.c.agent_id == agent_id,
                archive_entries.c.object_key == self.old_key,
            )
            .values(object_key=self.new_key)
        )


class ArchivedSources:
    """The bundles of one agent. Calls block; one bundle at a time is in memory."""

    def __init__(
        self, objects: ObjectStore, agent_id: str, *, clock: Callable[[], datetime]
    ) -> None:
        self._objects = objects
        self._agent_id = agent_id
        self._clock = clock

    def keys(self) -> list[str]:
        """Every object of the agent, unfinished ones included."""
        return list(self._objects.keys(agent_prefix(self._agent_id)))

    def delete(self, key: str) -> None:
        self._objects.delete(key)

    def glimpses(self) -> list[Glimpse]:
        """Every archived memory of the agent, in the order of the bundles."""
        return [Glimpse.of(line, key) for key in self._bundle_keys() for line in self._lines(key)]

    def texts(self, keys: Iterable[str], ids: set[str]) -> list[str]:
        """The contents and summaries of these memories."""
        held = (line.values["memory"] for key in keys for line in self._lines(key)
                if line.memory_id in ids)  # fmt: skip
        return [text for memory in held for text in (memory["content"], memory["summary"])]

    def replacement(self, key: str, ids: set[str]) -> Replacement:
        """What is left of a bundle, already put and durable under its new key."""
        lines = self._lines(key)
        replacement = Replacement(
            old_key=key,
            new_key=f"{agent_prefix(self._agent_id)}{new_id()}{BUNDLE}",
            lines=tuple(line for line in lines if line.memory_id not in ids),
            erased=tuple(line.memory_id for line in lines if line.memory_id in ids),
        )
        if replacement.lines:
            self._put(replacement.new_key, replacement.lines)
        return replacement

    def remove(self, replacement: Replacement) -> None:
        self._objects.delete(replacement.old_key)
        self._objects.delete(manifest_key(replacement.old_key))

    def delete_unfinished(self) -> None:
        """Delete what an interrupted put left behind; a put that is under way will fail whole."""
        for key in self.keys():
            if not key.endswith((BUNDLE, ".manifest.json")):
                self._objects.delete(key)

    def _put(self, key: str, lines: Sequence[Line]) -> None:
        data = pack(lines)
        created = self._clock().isoformat()
        listing = manifest(lines, data, agent_id=self._agent_id, created_at=created)
        self._objects.put(key, data)
        self._objects.put(manifest_key(key), listing)

    def _bundle_keys(self) -> list[str]:
        return sorted(key for key in self.keys() if key.endswith(BUNDLE))

    def _lines(self, key: str) -> list[Line]:
        return list(unpack(self._objects.get(key), key).values())
