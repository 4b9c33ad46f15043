"""Turning a scene and what was recalled into candidates, each with its worth and reason.

Worth mixes relevance to the query, stage, criticality, importance and how near a
memory is to the newest one in sight. The clock and access counts have no part in
it, so the same memories and query always give the same text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from waypost.context.candidates import AnyVersion, Candidate, LateVersion, Version
from waypost.context.excerpt import excerpt, first_lines
from waypost.context.scene import Scene
from waypost.context.sections import Section, section_of
from waypost.context.summaries import Summaries
from waypost.model import MemoryRecord, RecalledMemory
from waypost.model.context import ContextProfile, Form
from waypost.model.recall import Why
from waypost.model.vocabulary import LinkKind, MemoryType, Origin, Tier, Trust

_RELEVANCE, _STAGE, _CRITICALITY, _RECENCY = 0.83, 0.08, 0.07, 0.02
_COMPANY = 0.15
_STANDING_VALUE = 0.50
_STANDING_SHARE = 0.05
_STANDING_LEAST = 24
_SMALL_BUDGET = 500
_CITATION_VALUE = 0.30
_LEFT_OVER_VALUE = 0.02
_WINDOW_VALUE = 0.45
_CAUTION_VALUE = 0.60
_EXCERPT_SHARE = 0.12
_SMALLEST_EXCERPT = 60
_WORTH_SUMMARISING = 80
_PROGRESS_SHARE = 0.25


@dataclass(frozen=True)
class Caution:
    """A mistake that was made more than once, or was severe, in one sentence."""

    caution_id: str
    text: str
    last_seen: datetime
    severity: float = 0.5
    reason: str = "an error that came more than once and is not resolved"
    pinned: bool = False


@dataclass(frozen=True)
class Citation:
    """A stored result that recalled memories point to."""

    content_id: str
    text: str
    created_at: datetime
    trust: Trust = Trust.LOW


@dataclass(frozen=True)
class Found:
    """Everything that was found for one request."""

    scene: Scene
    recalled: Sequence[RecalledMemory]
    cautions: Sequence[Caution] = ()
    citations: Sequence[Citation] = ()
    summaries: Summaries = field(default_factory=Summaries)


class Gatherer:
    """Makes the candidates of one request."""

    def __init__(
        self, query: str, task_id: str | None, *, max_tokens: int, count: Callable[[str], int]
    ) -> None:
        self._query = query
        self._task_id = task_id
        self._max_tokens = max_tokens
        self._count = count

    def candidates(self, found: Found) -> list[Candidate]:
        """Each entry once: what was recalled, what surrounds it, and what always belongs."""
        scene = found.scene
        visible = [one for one in found.recalled if self._visible(one, scene)]
        newest = max((one.memory.timestamp for one in visible), default=None)
        lent = company(visible)
        groups: list[Iterable[Candidate]] = [
            task_lines(scene, self._progress(scene)),
            map(_caution, found.cautions),
            (self._recalled(one, found, newest, lent[one.memory_id]) for one in visible),
            self._window(found),
            self._standing(found, {one.memory_id for one in visible}),
            map(_citation, found.citations),
        ]
        unique: dict[str, Candidate] = {}
        for candidate in (one for group in groups for one in group):
            unique.setdefault(candidate.entry_id, candidate)
        return self._with_ends(found, unique)

    def _progress(self, scene: Scene) -> str:
        """As many lines of the task's progress as leave most of the budget to what was recalled."""
        summary = "" if scene.task is None else str(scene.task["task_progress_summary"])
        return first_lines(summary, int(self._max_tokens * _PROGRESS_SHARE), self._count)

    def _visible(self, one: RecalledMemory, scene: Scene) -> bool:
        """Not another project's, and no scratch note of another task."""
        memory = one.memory
        own = memory.type is not MemoryType.WORKING or memory.task_id in (None, self._task_id)
        return own and scene.may_show(memory)

    def _recalled(
        self, one: RecalledMemory, found: Found, newest: datetime | None, lent: float
    ) -> Candidate:
        factors, memory = one.why.factors, one.memory
        relevance = (
            _RELEVANCE * (factors.relevance + _COMPANY * lent)
            + _STAGE * factors.stage
            + _CRITICALITY * factors.criticality
            + _RECENCY * _nearness(memory.timestamp, newest)
        )
        value = _weighted(relevance, memory.importance, found.scene.profile)
        candidate = self._candidate(memory, found, value=value, reason=_why(one.why))
        return replace(candidate, why=one.why, disputed=bool(one.conflicts_with))

    def _window(self, found: Found) -> Iterable[Candidate]:
        """The newest memories of the task in full, as many before them in a line each."""
        latest, profile = found.scene.latest, found.scene.profile
        for place, memory in enumerate(latest):
            value = _WINDOW_VALUE * (1 - place / (len(latest) + 1))
            candidate = self._candidate(
                memory,
                found,
                value=_weighted(value, memory.importance, profile),
                reason=f"number {place + 1} of the newest in this task",
            )
            yield candidate if place < profile.window else _in_a_line(candidate, memory)

    def _standing(self, found: Found, recalled: set[str]) -> Iterable[Candidate]:
        """What is in force whatever is asked: the most important first, within a small share.

        The rest only fills what is left over, or comes in because it was recalled. A small
        budget belongs to the question; a short rule fits into any.
        """
        share = int((self._max_tokens - _SMALL_BUDGET) * _STANDING_SHARE)
        room = max(_STANDING_LEAST, share)
        for memory in found.scene.standing:
            if memory.memory_id in recalled:
                continue
            fits = memory.token_count <= room
            room -= memory.token_count if fits else 0
            value = _STANDING_VALUE if fits else _LEFT_OVER_VALUE
            yield self._candidate(
                memory,
                found,
                value=_weighted(value, memory.importance, found.scene.profile),
                reason=f"a {memory.kind} in force",
            )

    def _with_ends(self, found: Found, unique: dict[str, Candidate]) -> list[Candidate]:
        """Pin the first and last memories of the task: where it began and where it stands."""
        scene = found.scene
        ends = [(memory, "where the task began") for memory in scene.opening]
        ends += [(m, "where the task stands") for m in scene.latest[: scene.profile.tail]]
        for memory, reason in ends:
            known = unique.get(memory.memory_id)
            fresh = self._candidate(memory, found, value=_WINDOW_VALUE, reason=reason)
            unique[memory.memory_id] = replace(known or fresh, reason=reason, pinned=True)
        return list(unique.values())

    def _candidate(
        self, memory: MemoryRecord, found: Found, *, value: float, reason: str
    ) -> Candidate:
        return Candidate(
            entry_id=memory.memory_id,
            section=section_of(memory),
            tier=self._tier(memory, found.scene),
            versions=self._versions(memory),
            value=value,
            reason=reason,
            timestamp=memory.timestamp,
            origin=memory.origin,
            trust=memory.trust,
            size=memory.token_count,
            stand_ins=found.summaries.above(memory),
            parent_id=_parent(memory),
        )

    def _tier(self, memory: MemoryRecord, scene: Scene) -> Tier:
        if self._task_id is not None and memory.task_id == self._task_id:
            return Tier.TASK
        if scene.project_id is not None and memory.project_id == scene.project_id:
            return Tier.PROJECT
        return Tier.GLOBAL

    def _versions(self, memory: MemoryRecord) -> tuple[AnyVersion, ...]:
        """The fullest first. What could never fit is not even counted."""
        versions: list[AnyVersion] = []
        text = spoken(memory)
        if memory.token_count <= self._max_tokens:
            versions.append(Version(Form.RAW, text))
        limit = max(_SMALLEST_EXCERPT, int(self._max_tokens * _EXCERPT_SHARE))
        if memory.token_count > limit:
            part = partial(excerpt, text, self._query, limit, self._count)
            versions.append(LateVersion(Form.EXCERPT, limit, part))
        if _has_shorter_summary(memory):
            versions.append(Version(Form.SUMMARY, memory.summary))
        return tuple(versions) or (Version(Form.SUMMARY, memory.summary or text[:400]),)


def _has_shorter_summary(memory: MemoryRecord) -> bool:
    """Whether a line can stand for the memory: the first words of a short one say nothing."""
    long_enough = memory.token_count >= _WORTH_SUMMARISING
    return long_enough and 0 < len(memory.summary) < 0.7 * len(memory.content)


def _in_a_line(candidate: Candidate, memory: MemoryRecord) -> Candidate:
    if not _has_shorter_summary(memory):
        return candidate
    return replace(candidate, versions=(Version(Form.SUMMARY, memory.summary),), size=0)


def company(recalled: Sequence[RecalledMemory]) -> dict[str, float]:
    """For each memory the relevance of the better of its neighbours among the recalled.

    What was said just before or after a good answer often belongs to it.
    """
    episodes: dict[str, list[RecalledMemory]] = defaultdict(list)
    for one in sorted(recalled, key=lambda one: (one.memory.timestamp, one.memory_id)):
        episodes[one.memory.run_id or one.memory.task_id or one.memory_id].append(one)
    lent: dict[str, float] = {}
    for members in episodes.values():
        relevance = [0.0, *(one.why.factors.relevance for one in members), 0.0]
        for place, one in enumerate(members):
            lent[one.memory_id] = max(relevance[place], relevance[place + 2])
    return lent


def spoken(memory: MemoryRecord) -> str:
    """The text with who said it, when a source is known and not yet named in it."""
    source = memory.source
    if source and len(source) <= 40 and not memory.content.startswith(source):
        return f"{source}: {memory.content}"
    return memory.content


def task_lines(scene: Scene, progress: str) -> list[Candidate]:
    """The fixed head: goal, constraints, stage and progress of the task."""
    if scene.task is None:
        return []
    task = scene.task
    lines = [("goal", f"Goal: {task['task_goal']}")]
    lines += [
        (f"constraint-{place:03}", f"Constraint: {text}")
        for place, text in enumerate(task["critical_constraints"])
    ]
    open_stage = next((s for s in scene.stages if s["completed_at"] is None), None)
    if open_stage is not None:
        lines.append(("stage", f"Stage: {open_stage['stage_type']}"))
    if progress:
        lines.append(("progress", f"Progress: {progress}"))
    return [_task_line(place, name, text) for place, (name, text) in enumerate(lines)]


def _task_line(place: int, name: str, text: str) -> Candidate:
    return Candidate(
        entry_id=f"task-{place:03}-{name}",
        section=Section.TASK,
        tier=Tier.TASK,
        versions=(Version(Form.RAW, text), *_shorter(text)),
        value=1.0 - place / 1000,
        reason="the current task",
        origin=Origin.SYSTEM,
        trust=Trust.HIGH,
        pinned=True,
    )


def _shorter(text: str) -> list[Version]:
    return [Version(Form.SUMMARY, text[:300].rsplit(" ", 1)[0] + " …")] if len(text) > 320 else []


def _caution(caution: Caution) -> Candidate:
    return Candidate(
        entry_id=caution.caution_id,
        section=Section.MISTAKES,
        tier=Tier.TASK,
        versions=(Version(Form.RAW, caution.text),),
        value=_CAUTION_VALUE + 0.3 * caution.severity,
        reason=caution.reason,
        timestamp=caution.last_seen,
        origin=Origin.DERIVED,
        trust=Trust.MEDIUM,
        pinned=caution.pinned,
    )


def _citation(citation: Citation) -> Candidate:
    return Candidate(
        entry_id=citation.content_id,
        section=Section.CITATIONS,
        tier=Tier.TASK,
        versions=(Version(Form.RAW, citation.text),),
        value=_CITATION_VALUE,
        reason="cited by a memory that was recalled",
        timestamp=citation.created_at,
        origin=Origin.TOOL,
        trust=citation.trust,
    )


def _parent(memory: MemoryRecord) -> str | None:
    return next((link.target_id for link in memory.links if link.kind is LinkKind.PARENT), None)


def _nearness(moment: datetime, newest: datetime | None) -> float:
    """1 for the newest memory in sight, half of it for each day before."""
    if newest is None:
        return 0.0
    return float(0.5 ** max(0.0, (newest - moment).total_seconds() / 86_400))


def _weighted(value: float, importance: float, profile: ContextProfile) -> float:
    weight = profile.importance_weight
    return (1 - weight) * value + weight * importance


def _why(why: Why) -> str:
    routes = ", ".join(f"{hit.route} rank {hit.rank}" for hit in why.routes[:3])
    return f"relevance {why.factors.relevance:.2f}" + (f" ({routes})" if routes else "")
