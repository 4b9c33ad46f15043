"""Content for sub-agents: shared, read-only or isolated.

*Shared*: the sub-agent works on the parent's run itself. *Read-only*: it sees the parent's content
and may store nothing. *Isolated*: it has a run of its own that starts empty, or with a snapshot
that the parent chose to pass; the parent sees nothing of it until the changes are merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from waypost.content.store import ContentStore
from waypost.exceptions import InvalidInput
from waypost.model import ContentSnapshot


class Sharing(StrEnum):
    SHARED = "shared"
    READ_ONLY = "read_only"
    ISOLATED = "isolated"


@dataclass(frozen=True)
class SharedContent:
    """What a sub-agent was given. End it with ``merge`` or ``drop``."""

    parent: ContentStore
    store: ContentStore
    sharing: Sharing
    passed: ContentSnapshot | None = None

    async def merge(self) -> dict[str, str]:
        """Add what an isolated sub-agent stored to the parent; returns its ids and theirs here.

        Under the other modes there is nothing to merge.
        """
        if self.sharing is not Sharing.ISOLATED:
            return {}
        given = {item.content_id for item in self.passed.items} if self.passed else set()
        snapshot = await self.store.snapshot()
        made = tuple(item for item in snapshot.items if item.content_id not in given)
        return await self.parent.adopt(snapshot.model_copy(update={"items": made}))

    async def drop(self) -> None:
        """Forget what an isolated sub-agent stored; its audit trail stays."""
        if self.sharing is Sharing.ISOLATED:
            await self.store.clear()


async def share(
    parent: ContentStore,
    sharing: Sharing | str,
    run_id: str,
    *,
    snapshot: ContentSnapshot | None = None,
) -> SharedContent:
    """Give a sub-agent content. ``run_id`` names its own run, used when it is isolated."""
    mode = Sharing(sharing)
    if mode is Sharing.SHARED:
        return SharedContent(parent, parent, mode)
    if mode is Sharing.READ_ONLY:
        return SharedContent(parent, parent.read_only(), mode)
    if run_id == parent.run_id:
        raise InvalidInput(f"an isolated sub-agent needs a run of its own, not {run_id!r}")
    store = ContentStore(parent.database, parent.agent_id, run_id, clock=parent.clock)
    if snapshot is not None:
        await store.restore(snapshot)
    return SharedContent(parent, store, mode, snapshot)
