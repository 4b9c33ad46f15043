"""Strategy: the evidence for continuing, pivoting, verifying or stopping a task.

Each rule looks at something that is recorded (stages that ended, errors and their patterns, steps
that failed, what checks found, earlier interventions) and states it with its sources and a weight
for or against a decision. The sum is the support of each decision; the largest is advised. An
intervention whose outcome is recorded changes later advice: a decision that worked gains weight,
one that failed loses it, more so on the same task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection

from waypost.errors.patterns import find_patterns
from waypost.errors.severity import SEVERE
from waypost.exceptions import InvalidInput
from waypost.model import (
    Attempt,
    DecisionType,
    ErrorPattern,
    ErrorRecord,
    Evidence,
    Intervention,
    MemoryRecord,
    StageMemory,
    StageType,
    StrategicContext,
    TaskContext,
    Trend,
    new_id,
    utc_now,
)
from waypost.model.vocabulary import ERROR
from waypost.store import errors as error_rows
from waypost.store import hierarchy
from waypost.store import memories as repository
from waypost.store.database import Database
from waypost.store.tables import memories

T = TypeVar("T")

_BASE = 0.5
_MOST_ATTEMPTS = 20
_STREAK = 3
_PIVOTS = 2
_SAME_TASK, _OTHER_TASK = 0.6, 0.2
_MOST_LEARNED = 1.2


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything the rules look at, read in one snapshot."""

    task: TaskContext
    stages: Sequence[StageMemory]
    errors: Sequence[ErrorRecord]
    patterns: Sequence[ErrorPattern]
    steps: Sequence[MemoryRecord]
    interventions: Sequence[Intervention]


class Strategist:
    """Strategic context for one agent's tasks."""

    def __init__(
        self, database: Database, agent_id: str, *, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self._database = database
        self._agent_id = agent_id
        self._clock = clock

    async def context(self, task_id: str, decision_type: DecisionType | str) -> StrategicContext:
        """The state of a task and the evidence for each decision, the asked one included."""
        wanted = DecisionType(decision_type)
        return assess(await self._read(_situation, task_id), wanted)

    async def record_outcome(
        self,
        task_id: str,
        decision_type: DecisionType | str,
        description: str,
        *,
        outcome: str | None = None,
        success: bool | None = None,
        metrics_after: dict[str, float] | None = None,
    ) -> Intervention:
        """Record a decision that was taken and how it ended; later advice takes it into account."""
        if not description.strip():
            raise InvalidInput("the description is empty; say in a few words what was decided")
        wanted = DecisionType(decision_type)
        situation = await self._read(_situation, task_id)
        advice = assess(situation, wanted)
        intervention = Intervention(
            intervention_id=new_id(),
            agent_id=self._agent_id,
            task_id=task_id,
            decision_type=wanted,
            description=description,
            outcome=outcome,
            success=success,
            metrics_before=situation.task.performance_metrics,
            metrics_after=metrics_after or {},
            evidence={"advised": advice.advised.value, "support": _plain(advice.support)},
            recorded_at=self._clock(),
        )
        await self._database.write(_save_intervention, intervention, agent=self._agent_id)
        return intervention

    async def _read(self, work: Callable[..., T], *args: Any) -> T:
        return await self._database.read(work, self._agent_id, *args, agent=self._agent_id)


def assess(situation: Situation, wanted: DecisionType) -> StrategicContext:
    """Weigh the evidence. Pure: the same situation gives the same advice."""
    evidence: dict[DecisionType, list[Evidence]] = {decision: [] for decision in DecisionType}
    for rule in (_progress, _failing_steps, _error_patterns, _severe_errors, _checks, _learned):
        for decision, found in rule(situation):
            evidence[decision].append(found)
    support = {
        decision: round(sum(item.weight for item in found), 4)
        for decision, found in evidence.items()
    }
    # Ties go to the gentler decision: continue before verify before pivot before stop.
    gentle = (DecisionType.CONTINUE, DecisionType.VERIFY, DecisionType.PIVOT, DecisionType.STOP)
    task = situation.task
    return StrategicContext(
        task_id=task.task_id,
        decision_type=wanted,
        task_goal=task.task_goal,
        progress=task.task_progress_summary,
        critical_constraints=task.critical_constraints,
        error_patterns=tuple(situation.patterns),
        attempts=_attempts(situation.steps),
        interventions=tuple(i for i in situation.interventions if i.task_id == task.task_id),
        performance_metrics=task.performance_metrics,
        metrics_trend=_trend(situation),
        evidence={decision: tuple(found) for decision, found in evidence.items()},
        support=support,
        advised=max(gentle, key=lambda decision: support[decision]),
    )


Found = list[tuple[DecisionType, Evidence]]


def _progress(situation: Situation) -> Found:
    done = [stage for stage in situation.stages if not stage.is_open]
    found = [(DecisionType.CONTINUE, Evidence(statement="a task goes on by default", weight=_BASE))]
    if done:
        names = ", ".join(str(stage.stage_type) for stage in done)
        ids = tuple(stage.stage_id for stage in done)
        statement = f"{len(done)} stages are completed: {names}"
        item = Evidence(statement=statement, weight=min(0.6, 0.2 * len(done)), source_ids=ids)
        found.append((DecisionType.CONTINUE, item))
    return found


def _failing_steps(situation: Situation) -> Found:
    """The run of failures or successes at the end of what was tried."""
    outcomes = [step for step in situation.steps if step.success is not None]
    if not outcomes:
        return []
    last = outcomes[-1].success
    streak = []
    for step in reversed(outcomes):
        if step.success is not last:
            break
        streak.append(step.memory_id)
    if last:
        statement = f"the last {len(streak)} of {len(outcomes)} steps with an outcome succeeded"
        return [_item(DecisionType.CONTINUE, statement, min(0.6, 0.15 * len(streak)), streak)]
    statement = f"the last {len(streak)} of {len(outcomes)} steps with an outcome failed"
    found = [_item(DecisionType.CONTINUE, statement, -0.2 * len(streak), streak)]
    if len(streak) >= _STREAK:
        found.append(_item(DecisionType.PIVOT, statement, min(1.0, 0.25 * len(streak)), streak))
    return found


def _error_patterns(situation: Situation) -> Found:
    found: Found = []
    for pattern in situation.patterns:
        if not pattern.is_open:
            continue
        statement = f"{pattern.occurrences} times {pattern.description!r}, {pattern.trend}"
        weight = min(1.0, 0.25 * pattern.occurrences) * (0.5 + pattern.max_severity / 2)
        if pattern.trend is Trend.FALLING:
            weight /= 2
        if pattern.recommendation is not None:
            advice = f"{statement}; {pattern.recommendation.text}"
            found.append(_item(DecisionType.CONTINUE, advice, weight / 2, pattern.error_ids))
        else:
            found.append(_item(DecisionType.PIVOT, statement, weight, pattern.error_ids))
        found.append(_item(DecisionType.CONTINUE, statement, -weight / 2, pattern.error_ids))
    return found


def _severe_errors(situation: Situation) -> Found:
    severe = [e for e in situation.errors if e.error_severity >= SEVERE and e.resolved is not True]
    if not severe:
        return []
    ids = [error.error_id for error in severe]
    statement = (
        f"{len(severe)} severe errors are unresolved, last: {severe[-1].error_description[:120]!r}"
    )
    found = [_item(DecisionType.VERIFY, statement, 0.4, ids)]
    if any(error.error_type == "constraint" for error in severe):
        violated = "a severe error broke a constraint of the task"
        found.append(_item(DecisionType.STOP, violated, 0.8, ids))
    if len(severe) >= _STREAK:
        found.append(_item(DecisionType.STOP, statement, 0.3 * len(severe), ids))
    return found


def _checks(situation: Situation) -> Found:
    """Work that nothing has checked yet, and checks that have been made."""
    done = [stage for stage in situation.stages if not stage.is_open]
    executed = [stage for stage in done if stage.stage_type is StageType.EXECUTION]
    if not executed:
        return []
    after = [
        s
        for s in done
        if s.stage_type is StageType.VERIFICATION and s.created_at > executed[-1].created_at
    ]
    if after:
        ids = [stage.stage_id for stage in after]
        return [_item(DecisionType.VERIFY, "the last execution was verified", -0.4, ids)]
    statement = "the last execution was completed and nothing has verified it"
    return [_item(DecisionType.VERIFY, statement, 0.9, [executed[-1].stage_id])]


def _learned(situation: Situation) -> Found:
    """How earlier interventions ended, on this task and, with less weight, on others."""
    found: Found = []
    for decision in DecisionType:
        known = [
            one
            for one in situation.interventions
            if one.decision_type is decision and one.success is not None
        ]
        if not known:
            continue
        here = situation.task.task_id
        total = sum(
            (1 if one.success else -1) * (_SAME_TASK if one.task_id == here else _OTHER_TASK)
            for one in known
        )
        worked = sum(bool(one.success) for one in known)
        statement = f"{decision} was tried {len(known)} times before and worked {worked} times"
        weight = max(-_MOST_LEARNED, min(_MOST_LEARNED, total))
        found.append(_item(decision, statement, weight, [one.intervention_id for one in known]))
    return found + _failed_pivots(situation)


def _failed_pivots(situation: Situation) -> Found:
    """When one way out after the other fails, the task itself is in question."""
    failed = [
        one.intervention_id
        for one in situation.interventions
        if one.task_id == situation.task.task_id
        and one.decision_type is DecisionType.PIVOT
        and one.success is False
    ]
    if len(failed) < _PIVOTS:
        return []
    return [
        _item(
            DecisionType.STOP,
            f"{len(failed)} pivots on this task failed",
            0.4 * len(failed),
            failed,
        )
    ]


def _item(
    decision: DecisionType, statement: str, weight: float, source_ids: Sequence[str]
) -> tuple[DecisionType, Evidence]:
    item = Evidence(statement=statement, weight=round(weight, 4), source_ids=tuple(source_ids))
    return decision, item


def _attempts(steps: Sequence[MemoryRecord]) -> tuple[Attempt, ...]:
    """What was tried and how it ended, newest first."""
    tried = [step for step in steps if step.actions or step.success is not None]
    return tuple(
        Attempt(
            what=", ".join(action.name for action in step.actions) or step.summary,
            outcome=step.outcome or step.summary,
            success=step.success,
            source_ids=(step.memory_id,),
        )
        for step in reversed(tried[-_MOST_ATTEMPTS:])
    )


def _trend(situation: Situation) -> dict[str, float]:
    """How the task's figures moved since the last intervention, or since its first one."""
    own = [one for one in situation.interventions if one.task_id == situation.task.task_id]
    before = own[-1].metrics_before if own else {}
    now = situation.task.performance_metrics
    return {name: round(now[name] - before[name], 6) for name in sorted(now) if name in before}


def _situation(connection: Connection, agent_id: str, task_id: str) -> Situation:
    task = hierarchy.get_task(connection, agent_id, task_id)
    errors = error_rows.of_task(connection, agent_id, task_id)
    statement = (
        repository.rows_of(agent_id)
        .where(memories.c.task_id == task_id, memories.c.kind != ERROR)
        .order_by(memories.c.timestamp.desc(), memories.c.row_id.desc())
        .limit(200)
    )
    rows = connection.execute(statement).mappings().all()
    return Situation(
        task=task,
        stages=hierarchy.stages_of(connection, agent_id, task_id),
        errors=errors,
        patterns=find_patterns(errors, error_rows.in_scope(connection, agent_id, task_id)),
        steps=repository.with_links(connection, agent_id, list(reversed(rows))),
        interventions=error_rows.interventions_of(connection, agent_id),
    )


def _save_intervention(connection: Connection, intervention: Intervention) -> None:
    error_rows.add_intervention(connection, intervention)
    if intervention.metrics_after:
        agent_id, task_id = intervention.agent_id, intervention.task_id
        task = hierarchy.get_task(connection, agent_id, task_id, lock=True)
        values = {
            "performance_metrics": {**task.performance_metrics, **intervention.metrics_after},
            "updated_at": intervention.recorded_at,
        }
        hierarchy.update_task(connection, agent_id, task_id, values)


def _plain(support: dict[DecisionType, float]) -> dict[str, float]:
    return {decision.value: weight for decision, weight in support.items()}
