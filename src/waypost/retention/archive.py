"""Moving memories out of the database and back, losing none at any interruption.

Out: read, put the bundle and its manifest, read them back and compare, and only
then delete the rows, in one transaction with the entries that say where they went.
A row that changed in between no longer equals its line and stays. A crash before
that transaction leaves an unreferenced bundle; a crash after it leaves nothing to do.

Back: verify the lines, insert the rows and remove the entries in one transaction,
then delete bundles that hold nothing any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from waypost.exceptions import NotFound, StorageCorrupt
from waypost.filters import matches, parse_where
from waypost.filters.memory_fields import MEMORY_FIELDS
from waypost.model import MemoryRecord, new_id
from waypost.model.retention import RestoreReport
from waypost.retention import snapshot
from waypost.retention.bundle import Line, agent_prefix, digest, manifest, pack, unpack
from waypost.retention.objects import ObjectStore
from waypost.store import memories as repository
from waypost.store.database import Database
from waypost.store.memories import chunks
from waypost.store.tables import archive_entries
from waypost.validation import checked_id

BUNDLE_SIZE = 500


@dataclass(frozen=True)
class Archived:
    """One memory in the archive: where it lies and the checksum of its line."""

    memory_id: str
    object_key: str
    checksum: str


Progress = Callable[[int, int], None]


def no_progress(done: int, total: int) -> None:
    """Report to nobody."""


class Archive:
    """The archive of one agent."""

    def __init__(
        self,
        database: Database,
        objects: ObjectStore,
        agent_id: str,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._objects = objects
        self._agent_id = agent_id
        self._clock = clock
        self.location = objects.location

    async def take(
        self, ids: Sequence[str], *, reason: str, progress: Progress = no_progress
    ) -> list[str]:
        """Archive memories; the ids that left the database. Others had changed or were gone."""
        left: list[str] = []
        for part in chunks(ids, BUNDLE_SIZE):
            left += await self._take_bundle(part, reason)
            progress(min(len(ids), len(left)), len(ids))
        return left

    async def _take_bundle(self, ids: Sequence[str], reason: str) -> list[str]:
        lines = await self._read(snapshot.read_lines, ids)
        if not lines:
            return []
        key = f"{agent_prefix(self._agent_id)}{new_id()}.jsonl.gz"
        await asyncio.to_thread(self._put_verified, key, lines)
        left: list[str] = await self._write(forget_archived, key, lines, reason, self._clock())
        return left

    def _put_verified(self, key: str, lines: Sequence[Line]) -> None:
        data = pack(lines)
        listing = manifest(
            lines, data, agent_id=self._agent_id, created_at=self._clock().isoformat()
        )
        self._objects.put(key, data)
        self._objects.put(manifest_key(key), listing)
        stored = self._objects.get(key)
        whole = digest(stored) == digest(data) and self._objects.get(manifest_key(key)) == listing
        if not whole or unpack(stored, key) != {line.memory_id: line for line in lines}:
            raise StorageCorrupt(
                f"the archive {self.location} gave back other bytes than were put; nothing was "
                "deleted"
            )

    async def count(self) -> int:
        return int(await self._read(count_entries))

    async def get(self, memory_id: str) -> MemoryRecord:
        """Read one archived memory without bringing it back."""
        found = await self._lines([checked_id(memory_id)])
        if not found:
            raise NotFound(f"no archived memory {memory_id} for agent {self._agent_id!r}")
        return record_of(found[0])

    async def look_up(self, memory_ids: Sequence[str]) -> list[MemoryRecord]:
        """Those of these memories that are in the archive."""
        entries: list[Archived] = await self._read(find_entries, memory_ids)
        return [record_of(line) for line in await asyncio.to_thread(self._load, entries)]

    async def find(self, where: Mapping[str, Any] | None = None) -> list[MemoryRecord]:
        """Archived memories that match a filter, oldest first."""
        condition = parse_where(where or {}, MEMORY_FIELDS)
        records = [record_of(line) for line in await self._lines(None)]
        found = [record for record in records if matches(condition, record)]
        return sorted(found, key=lambda record: (record.timestamp, record.memory_id))

    async def restore(
        self,
        memory_ids: Sequence[str] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        progress: Progress = no_progress,
    ) -> RestoreReport:
        """Bring back memories by id, by filter, or all of them, equal to what they were."""
        wanted = memory_ids
        if wanted is None and where is not None:
            wanted = [record.memory_id for record in await self.find(where)]
        entries = await self._entries(wanted)
        lines = await asyncio.to_thread(self._load, entries)
        restored: list[str] = []
        for part in chunks(lines, BUNDLE_SIZE):
            restored += await self._write(bring_back, part)
            progress(len(restored), len(lines))
        await self._drop_emptied({entry.object_key for entry in entries})
        return RestoreReport(memory_ids=tuple(restored), present=len(lines) - len(restored))

    async def _lines(self, ids: Sequence[str] | None) -> list[Line]:
        """The verified lines of these archived memories, in the order of their bundles."""
        return await asyncio.to_thread(self._load, await self._entries(ids))

    async def _entries(self, ids: Sequence[str] | None) -> list[Archived]:
        entries: list[Archived] = await self._read(find_entries, ids)
        if ids is not None and (missing := set(ids) - {entry.memory_id for entry in entries}):
            raise NotFound(
                f"not in the archive of agent {self._agent_id!r}: {', '.join(sorted(missing)[:3])}",
                memory_ids=sorted(missing),
            )
        return entries

    def _load(self, entries: Sequence[Archived]) -> list[Line]:
        bundles: dict[str, dict[str, Line]] = {}
        lines = []
        for entry in entries:
            if entry.object_key not in bundles:
                data = self._objects.get(entry.object_key)
                bundles[entry.object_key] = unpack(data, entry.object_key)
            line = bundles[entry.object_key].get(entry.memory_id)
            if line is None or line.checksum != entry.checksum:
                raise StorageCorrupt(
                    f"memory {entry.memory_id} in {entry.object_key} does not match its checksum"
                )
            lines.append(line)
        return lines

    async def _drop_emptied(self, touched: set[str]) -> None:
        """Delete the bundles whose last memory came back.

        Only bundles that had entries: one without may belong to a pass of another
        process that has put it and not yet deleted its rows.
        """
        used = {entry.object_key for entry in await self._entries(None)}
        await asyncio.to_thread(self._delete, touched - used)

    def _delete(self, keys: set[str]) -> None:
        for key in sorted(keys):
            self._objects.delete(key)
            self._objects.delete(manifest_key(key))

    async def _read(self, work: Any, *args: Any) -> Any:
        return await self._database.read(work, self._agent_id, *args, agent=self._agent_id)

    async def _write(self, work: Any, *args: Any) -> Any:
        return await self._database.write(work, self._agent_id, *args, agent=self._agent_id)


def manifest_key(bundle_key: str) -> str:
    return bundle_key.removesuffix(".jsonl.gz") + ".manifest.json"


def record_of(line: Line) -> MemoryRecord:
    """The record as it was, from its archived line."""
    values = line.values
    row: dict[str, Any] = {**values["memory"], "access_count": 0, "last_accessed": None}
    for count in values["accesses"]:
        row.update(access_count=count["access_count"], last_accessed=count["last_accessed"])
    fields = {name: row[name] for name in MemoryRecord.model_fields if name in row}
    own = [link for link in values["links"] if link["source_id"] == line.memory_id]
    links = [{"kind": link["kind"], "target_id": link["target_id"]} for link in own]
    return MemoryRecord.model_validate({**fields, "links": links})


def forget_archived(
    connection: Connection,
    agent_id: str,
    key: str,
    lines: Sequence[Line],
    reason: str,
    now: datetime,
) -> list[str]:
    """Delete the rows that still equal their lines and enter where they went, as one step."""
    present = {
        line.memory_id: line
        for line in snapshot.read_lines(connection, agent_id, [line.memory_id for line in lines])
    }
    same = [line for line in lines if _unchanged(line, present.get(line.memory_id))]
    ids = [line.memory_id for line in same]
    if not ids:
        return []
    snapshot.drop_jobs(connection, agent_id, ids)
    repository.remove(connection, agent_id, ids, now=now, operation="archive", actor=None)
    drop_entries(connection, agent_id, ids)
    connection.execute(
        insert(archive_entries), [_entry(agent_id, key, line, reason, now) for line in same]
    )
    return ids


def _unchanged(archived: Line, present: Line | None) -> bool:
    """Whether the row is still what was archived; that it was read meanwhile changes nothing."""
    if present is None or archived == present:
        return present is not None
    before, now = archived.values, present.values
    return all(before[part] == now[part] for part in ("memory", "embeddings", "links"))


def _entry(agent_id: str, key: str, line: Line, reason: str, now: datetime) -> dict[str, Any]:
    memory = line.values["memory"]
    named = ("type", "tier", "kind", "task_id", "project_id", "timestamp")
    return {
        "agent_id": agent_id,
        "memory_id": line.memory_id,
        "object_key": key,
        "checksum": line.checksum,
        "size": len(line.text.encode()),
        "reason": reason,
        "details": {name: memory[name] for name in named},
        "archived_at": now,
    }


def bring_back(connection: Connection, agent_id: str, lines: Sequence[Line]) -> list[str]:
    restored = snapshot.write_lines(connection, agent_id, lines)
    drop_entries(connection, agent_id, [line.memory_id for line in lines])
    return restored


def find_entries(
    connection: Connection, agent_id: str, ids: Sequence[str] | None
) -> list[Archived]:
    statement = (
        select(
            archive_entries.c.memory_id, archive_entries.c.object_key, archive_entries.c.checksum
        )
        .where(archive_entries.c.agent_id == agent_id)
        .order_by(archive_entries.c.object_key, archive_entries.c.memory_id)
    )
    if ids is None:
        return [Archived(*row) for row in connection.execute(statement)]
    found: list[Archived] = []
    for part in chunks(ids):
        some = statement.where(archive_entries.c.memory_id.in_(part))
        found.extend(Archived(*row) for row in connection.execute(some))
    return found


def count_entries(connection: Connection, agent_id: str) -> int:
    statement = select(func.count()).where(archive_entries.c.agent_id == agent_id)
    return int(connection.execute(statement).scalar_one())


def drop_entries(connection: Connection, agent_id: str, ids: Sequence[str]) -> None:
    for part in chunks(ids):
        connection.execute(
            delete(archive_entries).where(
                archive_entries.c.agent_id == agent_id, archive_entries.c.memory_id.in_(part)
            )
        )
