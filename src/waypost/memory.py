"""One agent's memory: the facade over the write path, the read path and the views.

A manager is bound to its agent and cannot name another one. Each method is one
operation; the work is done by the parts it delegates to.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from waypost.content.runs import RunReader, RunRecorder
from waypost.content.store import ContentStore
from waypost.context import learning
from waypost.context.assembler import ContextAssembler
from waypost.exceptions import StorageError
from waypost.filters import parse_query, parse_where
from waypost.filters.memory_fields import MEMORY_FIELDS
from waypost.jobs.asking import AgentJobs
from waypost.model import (
    HistoryEntry,
    Interaction,
    MemoryChanges,
    MemoryRecord,
    MemoryType,
    NewMemory,
    Recall,
    RecallRequest,
    SourceTrail,
    Stored,
    TaskContext,
    TaskStatus,
    Tier,
)
from waypost.model.context import ContextEntry, ContextPackage, ContextRequest, LearnedSplit
from waypost.model.profile import AgentProfile
from waypost.model.retention import ErasureReport, PruneReport, RestoreReport, Strategy
from waypost.retention.archive import Archive
from waypost.retention.keeper import Keeper
from waypost.retrieve.retriever import Retriever
from waypost.stages.views import trail_of
from waypost.store import memories, profiles, statistics
from waypost.store.database import Database
from waypost.task_memory import TaskMemory, TaskParts
from waypost.tiers.global_store import Confirm, GlobalMemoryStore
from waypost.tiers.project_store import MAX_ITEMS, ProjectMemoryStore
from waypost.tiers.promotion import Promoter
from waypost.tiers.task_store import TaskMemoryStore
from waypost.tiers.view import TierParts
from waypost.validation import checked, checked_id
from waypost.working import WorkingEntry, WorkingMemory, latest_within
from waypost.working.port import MOST_ENTRIES
from waypost.write.editor import Editor
from waypost.write.writer import Writer

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a manager is made of; the engine wires it."""

    database: Database
    writer: Writer
    editor: Editor
    retriever: Retriever
    assembler: ContextAssembler
    keeper: Keeper
    promoter: Promoter
    working: WorkingMemory
    tasks: TaskParts
    jobs: AgentJobs
    clock: Callable[[], datetime]


class MemoryManager(TaskMemory):
    """The memory of one agent."""

    def __init__(self, agent_id: str, parts: Parts) -> None:
        super().__init__(parts.tasks)
        self.agent_id = agent_id
        self._parts = parts
        self._database = parts.database

    async def add_interaction(
        self, query: str | Interaction, response: str | None = None, **details: Any
    ) -> Stored:
        """Remember one exchange, with the facts in it and, when it went well, how it was done.

        ``details`` are the other fields of ``Interaction``: outcome, actions, success,
        task_id, project_id, run_id, tags, metadata, timestamp, idempotency_key, ….
        """
        interaction = (
            query
            if isinstance(query, Interaction)
            else checked(Interaction, {"query": query, "response": response, **details})
        )
        stored = await self._parts.writer.add_interaction(interaction)
        await self._after_write([stored])
        return stored

    async def add_memory(self, content: str | NewMemory, **details: Any) -> Stored:
        """Remember one text. ``details`` are the other fields of ``NewMemory``."""
        new = (
            content
            if isinstance(content, NewMemory)
            else checked(NewMemory, {"content": content, **details})
        )
        stored = await self._parts.writer.add([new])
        await self._after_write(stored)
        return stored[0]

    async def add_memories(self, batch: Iterable[NewMemory | Mapping[str, Any]]) -> list[Stored]:
        """Remember many texts in one transaction: all of them, or none."""
        items = [
            item if isinstance(item, NewMemory) else checked(NewMemory, item) for item in batch
        ]
        stored = await self._parts.writer.add(items) if items else []
        await self._after_write(stored)
        return stored

    async def retrieve_memories(
        self,
        query: str | RecallRequest,
        k: int = 5,
        *,
        now: datetime | None = None,
        track_access: bool = True,
        **filters: Any,
    ) -> Recall:
        """Recall the memories that matter for a question, each with its reasons.

        ``filters`` are the other fields of ``RecallRequest``: types, kinds, tier, task_id,
        project_id, run_id, stage_id, time_range, entities, keywords, tags, where, as_of,
        include_superseded, weights, half_life_hours, ….
        """
        request = (
            query
            if isinstance(query, RecallRequest)
            else checked(RecallRequest, {"query": query, "k": k, **filters})
        )
        return await self._parts.retriever.retrieve(request, now=now, track_access=track_access)

    async def get_relevant_context(
        self,
        query: str | ContextRequest,
        task_id: str | None = None,
        max_tokens: int = 2000,
        **details: Any,
    ) -> ContextPackage:
        """The few tokens that matter now, as text to put before a model. Never over budget.

        ``details`` are the other fields of ``ContextRequest``: project_id, run_id, split,
        profile, where, as_of.
        """
        request = (
            query
            if isinstance(query, ContextRequest)
            else checked(ContextRequest, {"query": query, "max_tokens": max_tokens, **details})
        )
        return await self._parts.assembler.build(task_id, request)

    async def report_context_use(
        self, items: Iterable[ContextEntry | Mapping[str, Any]], used: Iterable[str]
    ) -> LearnedSplit:
        """Say which entries of a context were of use, by their ids; what has been learned.

        ``items`` are those of the package. An agent whose profile has ``learn_split`` set
        moves the tier shares of later contexts a little; for any other nothing changes.
        """
        entries = [
            item if isinstance(item, ContextEntry) else checked(ContextEntry, item)
            for item in items
        ]
        return await self._database.write(
            learning.report_use, self.agent_id, entries, tuple(used), self._parts.clock(),
            agent=self.agent_id,
        )  # fmt: skip

    async def get_tier_split(self) -> LearnedSplit:
        """How this agent's contexts divide their budget between tiers, and why."""
        return await self._read(learning.read_split)

    async def get_memory(self, memory_id: str) -> MemoryRecord:
        """One memory by its id; NotFound when this agent has none."""
        return await self._read(memories.get, checked_id(memory_id))

    async def list_memories(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        order_by: str = "timestamp",
        limit: int = 100,
    ) -> list[MemoryRecord]:
        """Memories that match a filter, newest first; ``-`` before the field reverses."""
        query = parse_query(where or {}, MEMORY_FIELDS, order_by=order_by, limit=limit)
        return await self._read(memories.find, query)

    async def count_memories(self, where: Mapping[str, Any] | None = None) -> int:
        return await self._read(memories.count, parse_where(where or {}, MEMORY_FIELDS))

    async def update_memory(
        self,
        memory_id: str,
        changes: MemoryChanges | None = None,
        *,
        expected_version: int | None = None,
        actor: str | None = None,
        **fields: Any,
    ) -> MemoryRecord:
        """Change the given fields; history keeps what they held before."""
        wanted = changes if changes is not None else checked(MemoryChanges, fields)
        record = await self._parts.editor.update(
            checked_id(memory_id), wanted, expected_version=expected_version, actor=actor
        )
        await self._refresh_working(record.task_id)
        return record

    async def forget_memory(self, memory_id: str, *, actor: str | None = None) -> None:
        """Delete one memory; NotFound when this agent has none."""
        await self._parts.editor.forget(checked_id(memory_id), actor=actor)
        await self._refresh_working()

    async def get_history(self, memory_id: str) -> list[HistoryEntry]:
        """Everything that happened to one memory, oldest first."""
        return await self._read(memories.events, checked_id(memory_id))

    async def get_statistics(self) -> statistics.AgentStatistics:
        """How much this agent remembers, by type, tier and kind."""
        return await self._read(statistics.of_agent)

    async def get_profile(self) -> AgentProfile:
        """This agent's own weights, half-life and way of putting contexts together."""
        return await self._read(profiles.read)

    async def set_profile(self, **parts: Any) -> AgentProfile:
        """Change parts of the profile: weights, half_life_hours, context. The others stay."""
        wanted = checked(AgentProfile, parts)
        changes = {name: getattr(wanted, name) for name in wanted.model_fields_set}
        return await self._database.write(
            profiles.change, self.agent_id, changes, self._parts.clock(), agent=self.agent_id
        )

    async def get_working_memory(self, task_id: str) -> list[WorkingEntry]:
        """The latest memories of a task, oldest first, at most 4,000 tokens of them."""
        held = await self._parts.working.entries(self.agent_id, task_id)
        if held is not None:
            return held
        newest = await self.list_memories({"task_id": task_id}, limit=MOST_ENTRIES)
        entries = latest_within([WorkingEntry.of(memory) for memory in reversed(newest)])
        if entries:
            await self._parts.working.push(self.agent_id, task_id, entries)
        return entries

    def task(self, task_id: str, *, project_id: str | None = None) -> TaskMemoryStore:
        """The memory of one task: reasoning and tool outputs, cleared when it ends."""
        return TaskMemoryStore(self._tier_parts(), task_id, project_id=project_id)

    def project(self, project_id: str, *, max_items: int = MAX_ITEMS) -> ProjectMemoryStore:
        """The memory of one project. It cannot read another project's by any argument."""
        return ProjectMemoryStore(self._tier_parts(), project_id, max_items=max_items)

    def global_memory(self, confirmation_callback: Confirm | None = None) -> GlobalMemoryStore:
        """What the agent knows everywhere; the callback, plain or async, is asked before a
        preference is stored or everything is cleared."""
        return GlobalMemoryStore(self._tier_parts(), confirmation_callback)

    async def complete_task(
        self,
        task_id: str,
        outcome: str | None = None,
        status: TaskStatus | str = TaskStatus.COMPLETED,
    ) -> TaskContext:
        """End a task as completed, failed or abandoned; its open stage is completed first.

        Then what was marked is promoted and the task's scratch notes go to the archive,
        where its summaries still find them.
        """
        ended = await super().complete_task(task_id, outcome, status)
        notes = self.task(task_id)
        await notes.promote_marked()
        try:
            await notes.clear()
        except StorageError as error:
            logger.warning("the notes of task %r stay: %s", task_id, error)
        await self._refresh_working(task_id)
        return ended

    async def expand_line(self, task_id: str, line: str) -> SourceTrail:
        """Follow one line of a task's or stage's summary down to its memories and content.

        Memories that were archived since are read from the archive.
        """
        trail = await super().expand_line(task_id, line)
        known = {memory.memory_id: memory for memory in trail.memories}
        missing = [name for name in trail.line.source_ids if name not in known]
        if not missing:
            return trail
        known |= {memory.memory_id: memory for memory in await self.archive.look_up(missing)}
        return trail_of(trail.line, [known[n] for n in trail.line.source_ids if n in known])

    async def promote(
        self,
        memory_id: str,
        to: Tier | str | None = None,
        *,
        project_id: str | None = None,
        actor: str | None = None,
    ) -> Stored:
        """Copy a memory one tier up: from its task to its project, from a project to global."""
        stored = await self._parts.promoter.promote(
            checked_id(memory_id), to, project_id=project_id, actor=actor
        )
        await self._after_write([stored])
        return stored

    async def undo_promotion(self, promoted_id: str, *, actor: str | None = None) -> None:
        """Take a promoted copy back; the original is not touched."""
        await self._parts.promoter.undo(checked_id(promoted_id), actor=actor)

    async def prune(
        self,
        memory_layer: MemoryType | str | None = None,
        strategy: Strategy | str = Strategy.LEAST_RELEVANT,
        **options: Any,
    ) -> PruneReport:
        """Archive the least missed fifth of a layer (a memory type), or of everything.

        ``options``: tier, where, max_items, max_tokens, share, dry_run, progress.
        """
        report = await self._parts.keeper.prune(memory_layer, strategy, **options)
        await self._refresh_working()
        return report

    async def restore(
        self, memory_ids: Sequence[str] | str | None = None, **options: Any
    ) -> RestoreReport:
        """Bring archived memories back: some by id, by filter (``where``), or all of them."""
        return await self._parts.keeper.restore(memory_ids, **options)

    async def erase(self, *, source: str | None = None, **options: Any) -> ErasureReport:
        """Destroy all that came from one source or, without one, everything of this agent.

        ``options``: dry_run, which only reports what would be touched, and progress.
        """
        return await self._parts.keeper.erase(source=source, **options)

    @property
    def assembler(self) -> ContextAssembler:
        """Builds the contexts: ``build``, or ``collect`` and ``format`` one after the other."""
        return self._parts.assembler

    @property
    def jobs(self) -> AgentJobs:
        """Background jobs: ask for pruning, erasing or a stage's summary, and look after them."""
        return self._parts.jobs

    @property
    def archive(self) -> Archive:
        """What was pruned: count, read and find it without bringing it back."""
        return self._parts.keeper.archive

    def content(self, run_id: str | None = None) -> ContentStore:
        """Full results of a run, kept beside the conversation; without a run, all, to read."""
        return ContentStore(self._database, self.agent_id, run_id, clock=self._parts.clock)

    def recorder(self, run_id: str) -> RunRecorder:
        """Records what a run's model is shown, step by step."""
        return RunRecorder(self._database, self.agent_id, run_id, clock=self._parts.clock)

    @property
    def runs(self) -> RunReader:
        """The agent's runs, kept for audit: list them, read their events, replay a step."""
        return RunReader(self._database, self.agent_id)

    async def _after_write(self, stored: Sequence[Stored]) -> None:
        """Keep working memory at hand and capacities in force."""
        by_task: dict[str, list[WorkingEntry]] = {}
        for memory in (one.memory for one in stored if not one.duplicate):
            if memory.task_id is not None:
                by_task.setdefault(memory.task_id, []).append(WorkingEntry.of(memory))
        for task_id, entries in by_task.items():
            await self._parts.working.push(self.agent_id, task_id, entries)
        await self._parts.keeper.pruner.after_write()

    async def _refresh_working(self, task_id: str | None = None) -> None:
        """Let working memory be read anew; the write before it stands in any case."""
        try:
            await self._parts.working.clear(self.agent_id, task_id)
        except StorageError as error:
            logger.warning("working memory may be out of date for up to an hour: %s", error)

    def _tier_parts(self) -> TierParts:
        return TierParts(
            database=self._database,
            agent_id=self.agent_id,
            writer=self._parts.writer,
            retriever=self._parts.retriever,
            archive=self._parts.keeper.archive,
            pruner=self._parts.keeper.pruner,
            promoter=self._parts.promoter,
            clock=self._parts.clock,
            after_write=self._after_write,
            after_removal=self._refresh_working,
        )

    async def _read(self, work: Callable[..., T], *args: Any) -> T:
        return await self._database.read(work, self.agent_id, *args, agent=self.agent_id)
