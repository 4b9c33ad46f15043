"""The memory an agent has everywhere: preferences and patterns.

What applies everywhere is written with care: a confirmation callback, plain or
async, is asked before a preference is stored or everything is cleared. Declined
means that nothing is written.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from waypost.exceptions import InvalidInput
from waypost.model import MemoryRecord, MemoryType, Tier
from waypost.model.vocabulary import PATTERN, PREFERENCE
from waypost.tiers.view import TierParts, TierView

Confirm = Callable[[str], bool | Awaitable[bool]]


class GlobalMemoryStore(TierView):
    tier = Tier.GLOBAL

    def __init__(self, parts: TierParts, confirmation_callback: Confirm | None = None) -> None:
        super().__init__(parts, {"tier": Tier.GLOBAL.value}, {"project_id": None, "task_id": None})
        self._confirm = confirmation_callback

    async def add_preference(
        self, preference: str, category: str, require_confirmation: bool | None = None
    ) -> MemoryRecord | None:
        """Store a preference; None when it was declined.

        By default the callback is asked when there is one. ``require_confirmation``
        insists on it, or, as False, skips it.
        """
        question = f"Remember for all projects: {preference!r} (category {category})?"
        if require_confirmation is not False and not await self._asked(
            question, required=bool(require_confirmation)
        ):
            return None
        return await self._add(
            preference,
            kind=PREFERENCE,
            type=MemoryType.SEMANTIC,
            importance=0.9,
            tags=("global", PREFERENCE, category),
            metadata={"category": category},
        )

    async def add_pattern(self, pattern: str, domain: str) -> MemoryRecord:
        """Store a way of doing things that serves in every project."""
        return await self._add(
            pattern,
            kind=PATTERN,
            type=MemoryType.PROCEDURAL,
            importance=0.7,
            tags=("global", PATTERN, domain),
            metadata={"domain": domain},
        )

    async def query_preferences(self, category: str | None = None) -> list[MemoryRecord]:
        return await self._of_kind(PREFERENCE, category)

    async def query_patterns(self, domain: str | None = None) -> list[MemoryRecord]:
        return await self._of_kind(PATTERN, domain)

    async def clear_all(self) -> bool:
        """Archive every global memory; False when that was declined."""
        count = await self.count()
        if not await self._asked(f"Clear all {count} global memories?", required=True):
            return False
        await self._archive_all(None, "global memory cleared")
        return True

    async def _of_kind(self, kind: str, tag: str | None) -> list[MemoryRecord]:
        return await self.query({"kind": kind, "tags": [tag]} if tag else {"kind": kind})

    async def _asked(self, question: str, *, required: bool) -> bool:
        if self._confirm is None:
            if required:
                raise InvalidInput(
                    "this needs a confirmation; pass confirmation_callback=… to "
                    "memory.global_memory()"
                )
            return True
        answer = self._confirm(question)
        return bool(await answer) if inspect.isawaitable(answer) else bool(answer)
