"""Content for sub-agents: shared, read-only or isolated.

*Shared*: the sub-agent works on the parent's run itself. *Read-only*: it sees what the parent has
stored and may add nothing to it. *Isolated*: it starts empty, or with a snapshot that the parent
chose to pass; the parent sees nothing of it until the changes are merged.

Under the last two the results of the sub-agent's own tools go to a run of its own, ``own``, so that
they can be shown once and cited like any others.
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
    """What a sub-agent was given. End it with ``merge`` or ``drop``.

    ``store`` is what it may use knowingly, ``own`` where the results of its tools are kept.
    """

    parent: ContentStore
    store: ContentStore
    own: ContentStore
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
        """Forget what is in the sub-agent's own run; its audit trail stays."""
        if self.sharing is not Sharing.SHARED:
            await self.own.clear()


async def share(
    parent: ContentStore,
    sharing: Sharing | str,
    run_id: str,
    *,
    snapshot: ContentSnapshot | None = None,
) -> SharedContent:
    """Give a sub-agent content. ``run_id`` names its own run, used unless it works on the parent's.

    ``snapshot`` is what an isolated one starts with; a read-only one has all of the parent's.
    """
    mode = Sharing(sharing)
    if mode is Sharing.SHARED:
        return SharedContent(parent, parent, parent, mode)
    if run_id == parent.run_id:
        raise InvalidInput(
            f"a sub-agent that is {mode.value} needs a run of its own, not {run_id!r}"
        )
    own = ContentStore(parent.database, parent.agent_id, run_id, clock=parent.clock)
    passed = await parent.snapshot() if mode is Sharing.READ_ONLY else snapshot
    if passed is not None:
        await own.restore(passed)
    usable = own.read_only() if mode is Sharing.READ_ONLY else own
    return SharedContent(parent, usable, own, mode, passed)
