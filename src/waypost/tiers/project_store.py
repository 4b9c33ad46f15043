"""The memory of one project: decisions, conventions, failures with lessons, patterns.

Over ``max_items`` the least important and oldest tenth goes to the archive.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from waypost.exceptions import InvalidInput
from waypost.model import MemoryRecord, MemoryType, Tier
from waypost.model.retention import Strategy
from waypost.model.vocabulary import CONVENTION, DECISION, FAILURE, PATTERN
from waypost.tiers.view import TierParts, TierView

MAX_ITEMS = 1000
EVICTED_SHARE = 0.1


class ProjectMemoryStore(TierView):
    tier = Tier.PROJECT

    def __init__(self, parts: TierParts, project_id: str, *, max_items: int = MAX_ITEMS) -> None:
        if max_items < 1:
            raise InvalidInput(f"max_items is at least 1, not {max_items}")
        scope = {"tier": Tier.PROJECT.value, "project_id": project_id}
        super().__init__(parts, scope, {"project_id": project_id, "task_id": None})
        self.project_id = project_id
        self.max_items = max_items

    async def add_decision(self, decision: str, tags: Sequence[str] = ()) -> MemoryRecord:
        return await self._keep(decision, DECISION, 0.9, tags)

    async def add_convention(self, convention: str, scope: str) -> MemoryRecord:
        """Note how things are done here; ``scope`` says where (a language, a folder, …)."""
        return await self._keep(convention, CONVENTION, 0.8, (scope,), {"scope": scope})

    async def add_failure(
        self, failure: str | Mapping[str, Any], lesson: str, *, code: str | None = None
    ) -> MemoryRecord:
        """Note what went wrong and what was learned from it."""
        text = (
            failure
            if isinstance(failure, str)
            else json.dumps(dict(failure), ensure_ascii=False, default=str)
        )
        tags = (code,) if code else ()
        details = {
            "failure": failure if isinstance(failure, str) else json.loads(text),
            "lesson": lesson,
        }
        return await self._keep(f"{text}\nLesson: {lesson}", FAILURE, 0.85, tags, details)

    async def add_pattern(self, pattern: str, domain: str) -> MemoryRecord:
        return await self._keep(pattern, PATTERN, 0.7, (domain,), {"domain": domain})

    async def query_decisions(self, tags: Sequence[str] | None = None) -> list[MemoryRecord]:
        return await self._of_kind(DECISION, tags)

    async def query_conventions(self, scope: str | None = None) -> list[MemoryRecord]:
        return await self._of_kind(CONVENTION, [scope] if scope else None)

    async def query_failures(self, tags: Sequence[str] | None = None) -> list[MemoryRecord]:
        return await self._of_kind(FAILURE, tags)

    async def query_patterns(self, domain: str | None = None) -> list[MemoryRecord]:
        return await self._of_kind(PATTERN, [domain] if domain else None)

    async def _keep(
        self,
        text: str,
        kind: str,
        importance: float,
        tags: Sequence[str],
        metadata: Mapping[str, Any] | None = None,
    ) -> MemoryRecord:
        memory = await self._add(
            text,
            kind=kind,
            type=MemoryType.PROCEDURAL if kind == PATTERN else MemoryType.SEMANTIC,
            importance=importance,
            tags=("project", kind, *tags),
            metadata=dict(metadata or {}),
        )
        await self._evict()
        return memory

    async def _evict(self) -> None:
        if await self.count() > self.max_items:
            await self._parts.pruner.prune(
                self._scope,
                strategy=Strategy.LEAST_IMPORTANT,
                share=EVICTED_SHARE,
                reason="project over its limit",
            )

    async def _of_kind(self, kind: str, tags: Sequence[str] | None) -> list[MemoryRecord]:
        filters: dict[str, Any] = {"kind": kind}
        if tags:
            filters["tags"] = list(tags)
        return await self.query(filters)
