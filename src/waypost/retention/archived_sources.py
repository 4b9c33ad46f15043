"""Finding and removing single memories in archived bundles.

Every bundle below the agent's prefix is looked at, also one that no entry refers
to because a pass was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, update

from waypost.model import LinkKind, new_id
from waypost.retention.archive import drop_entries, manifest_key
from waypost.retention.bundle import Line, agent_prefix, manifest, pack, unpack
from waypost.retention.objects import ObjectStore
from waypost.store.tables import archive_entries

BUNDLE = ".jsonl.gz"


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
    """The bundles of one agent, read whole. Calls block."""

    def __init__(
        self, objects: ObjectStore, agent_id: str, *, clock: Callable[[], datetime]
    ) -> None:
        self._objects = objects
        self._agent_id = agent_id
        self._clock = clock

    def delete_all(self) -> int:
        """Delete every object of the agent."""
        keys = list(self._objects.keys(agent_prefix(self._agent_id)))
        for key in keys:
            self._objects.delete(key)
        return len(keys)

    def ids_of_source(self, source: str) -> set[str]:
        return {
            line.memory_id
            for _, lines in self._bundles()
            for line in lines
            if line.values["memory"]["source"] == source
        }

    def descendants(self, ids: set[str]) -> set[str]:
        """What is said, in the archive, to be derived from any of these."""
        return {
            link["source_id"]
            for _, lines in self._bundles()
            for line in lines
            for link in line.values["links"]
            if link["kind"] == LinkKind.PARENT.value and link["target_id"] in ids
        }

    def replacements(self, ids: set[str]) -> list[Replacement]:
        return [
            Replacement(
                old_key=key,
                new_key=f"{agent_prefix(self._agent_id)}{new_id()}{BUNDLE}",
                lines=tuple(line for line in lines if line.memory_id not in ids),
                erased=tuple(line.memory_id for line in lines if line.memory_id in ids),
            )
            for key, lines in self._bundles()
            if any(line.memory_id in ids for line in lines)
        ]

    def put(self, replacement: Replacement) -> None:
        if not replacement.lines:
            return
        data = pack(replacement.lines)
        listing = manifest(
            replacement.lines,
            data,
            agent_id=self._agent_id,
            created_at=self._clock().isoformat(),
        )
        self._objects.put(replacement.new_key, data)
        self._objects.put(manifest_key(replacement.new_key), listing)

    def remove(self, replacement: Replacement) -> None:
        self._objects.delete(replacement.old_key)
        self._objects.delete(manifest_key(replacement.old_key))

    def _bundles(self) -> Iterable[tuple[str, list[Line]]]:
        for key in list(self._objects.keys(agent_prefix(self._agent_id))):
            if key.endswith(BUNDLE):
                yield key, list(unpack(self._objects.get(key), key).values())
