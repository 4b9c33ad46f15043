"""Runs: what was stored, what the model was shown at each step, and what was compacted.

A recorder appends events to a run; a run is never rewritten. A prompt is recorded as what was
sent, not as how it was made: its messages lie in the content store under their digests, long
texts once however often they are sent, and each prompt names only what differs from the one
before. ``messages_at`` therefore gives back exactly the list of any step, with whatever version
of Waypost it is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from waypost.content import blobs
from waypost.content.conversation import Prompt
from waypost.content.messages import Message
from waypost.exceptions import NotFound
from waypost.model import CallerId, UtcTime, utc_now
from waypost.model.base import Value
from waypost.store.database import Database
from waypost.store.tables import run_events, runs

PROMPT = "prompt"
_LONG_TEXT = 1000


class Run(Value):
    run_id: CallerId
    parent_run_id: CallerId | None
    task_id: CallerId | None
    settings: dict[str, Any]
    started_at: UtcTime
    ended_at: UtcTime | None
    steps: int = 0
    tokens_sent: int = 0


class RunEvent(Value):
    """``step`` is the number of the prompt before which, or with which, it happened."""

    number: int
    step: int
    kind: str
    payload: dict[str, Any]
    at: UtcTime


class SentPrompt(Value):
    """What the model was sent at one step; ``system`` is apart in Anthropic's style only."""

    step: int
    messages: list[Message]
    system: str = ""


class RunRecorder:
    """Appends to one run. It begins with :meth:`start`."""

    def __init__(
        self,
        database: Database,
        agent_id: str,
        run_id: str,
        *,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.database = database
        self.agent_id = agent_id
        self.run_id = run_id
        self.clock = clock
        self.steps_before = 0
        self._last: list[Message] = []

    async def start(
        self,
        settings: dict[str, Any] | None = None,
        *,
        parent_run_id: str | None = None,
        task_id: str | None = None,
    ) -> None:
        """Open the run. One that exists is continued: its steps are numbered on."""
        row = {
            "agent_id": self.agent_id,
            "run_id": self.run_id,
            "parent_run_id": parent_run_id,
            "task_id": task_id,
            "settings": settings or {},
            "started_at": self.clock(),
        }
        await self._write(_start, row)
        try:
            sent = await RunReader(self.database, self.agent_id).prompt_at(self.run_id)
        except NotFound:
            return
        self._last, self.steps_before = sent.messages, sent.step

    async def record(self, kind: str, step: int, payload: dict[str, Any]) -> None:
        await self._write(_append, self._event(kind, step, payload))

    async def record_prompt(self, prompt: Prompt) -> None:
        """Keep what the model is sent at this step, exactly."""
        same = _same_beginning(self._last, prompt.messages)
        facts = {
            "same": same,
            "tokens": prompt.tokens,
            "shown": list(prompt.shown),
            "compacted": list(prompt.compacted),
            "system": prompt.system,
        }
        event = self._event(PROMPT, prompt.step, facts)
        await self._write(_append_prompt, event, prompt.messages[same:])
        self._last = prompt.messages

    async def end(self) -> None:
        await self._write(_end, self.agent_id, self.run_id, self.clock())

    def _event(self, kind: str, step: int, payload: dict[str, Any]) -> dict[str, Any]:
        owner = {"agent_id": self.agent_id, "run_id": self.run_id, "at": self.clock()}
        return owner | {"kind": kind, "step": self.steps_before + step, "payload": payload}

    async def _write(self, work: Callable[..., None], *args: Any) -> None:
        await self.database.write(work, *args, agent=self.agent_id)


class RunReader:
    """Reads the runs of one agent."""

    def __init__(self, database: Database, agent_id: str) -> None:
        self.database = database
        self.agent_id = agent_id

    async def latest(self, limit: int = 50) -> list[Run]:
        """Runs, the latest first."""
        return await self.database.read(_latest, self.agent_id, limit, agent=self.agent_id)

    async def get(self, run_id: str) -> Run:
        return await self.database.read(_get, self.agent_id, run_id, agent=self.agent_id)

    async def events(self, run_id: str) -> list[RunEvent]:
        """Everything that happened in a run, in order."""
        await self.get(run_id)
        return await self.database.read(_events, self.agent_id, run_id, agent=self.agent_id)

    async def messages_at(self, run_id: str, step: int | None = None) -> list[Message]:
        """The message list sent at a step, by default the last."""
        return (await self.prompt_at(run_id, step)).messages

    async def prompt_at(self, run_id: str, step: int | None = None) -> SentPrompt:
        """All that was sent at a step, by default the last."""
        return await self.database.read(
            _prompt_at, self.agent_id, run_id, step, agent=self.agent_id
        )


def _same_beginning(before: Sequence[Message], now: Sequence[Message]) -> int:
    count = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        count += 1
    return count


def _start(connection: Connection, row: dict[str, Any]) -> None:
    known = connection.execute(
        select(runs.c.run_id).where(
            runs.c.agent_id == row["agent_id"], runs.c.run_id == row["run_id"]
        )
    ).first()
    if known is None:
        connection.execute(insert(runs).values(row))


def _end(connection: Connection, agent_id: str, run_id: str, now: datetime) -> None:
    connection.execute(
        update(runs)
        .where(runs.c.agent_id == agent_id, runs.c.run_id == run_id)
        .values(ended_at=now)
    )


def _append(connection: Connection, event: dict[str, Any]) -> None:
    last = connection.execute(
        select(func.max(run_events.c.number)).where(
            run_events.c.agent_id == event["agent_id"], run_events.c.run_id == event["run_id"]
        )
    ).scalar()
    connection.execute(insert(run_events).values(event | {"number": (last or 0) + 1}))


def _append_prompt(connection: Connection, event: dict[str, Any], new: list[Message]) -> None:
    packed = [_packed(connection, event["agent_id"], message) for message in new]
    digests = sorted({digest for one in packed for digest in _digests(one)})
    payload = event["payload"] | {"messages": packed, "digests": digests}
    _append(connection, event | {"payload": payload})


def _packed(connection: Connection, agent_id: str, message: Message) -> dict[str, Any]:
    """A message as digests: its shape with long texts taken out, and those texts by place."""
    shape: Message = json.loads(json.dumps(message, ensure_ascii=False))
    texts: list[list[Any]] = []
    for path, text in _long_texts(shape):
        digest = blobs.put_small(connection, agent_id, text.encode("utf-8", "surrogatepass"))
        texts.append([path, digest])
        _put(shape, path, "")
    data = json.dumps(shape, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return {"shape": blobs.put_small(connection, agent_id, data), "texts": texts}


def _digests(packed: dict[str, Any]) -> list[str]:
    return [packed["shape"], *(digest for _, digest in packed["texts"])]


def _long_texts(value: Any) -> list[tuple[list[Any], str]]:
    found: list[tuple[list[Any], str]] = []
    waiting: list[tuple[list[Any], Any]] = [([], value)]
    while waiting:
        path, inner = waiting.pop()
        if isinstance(inner, str) and len(inner) >= _LONG_TEXT:
            found.append((path, inner))
        elif isinstance(inner, dict):
            waiting += [([*path, key], item) for key, item in inner.items()]
        elif isinstance(inner, list):
            waiting += [([*path, place], item) for place, item in enumerate(inner)]
    return found


def _put(value: Any, path: Sequence[Any], text: str) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = text


def _unpacked(connection: Connection, agent_id: str, packed: dict[str, Any]) -> Message:
    message: Message = json.loads(_text(connection, agent_id, packed["shape"]))
    for path, digest in packed["texts"]:
        _put(message, path, _text(connection, agent_id, digest))
    return message


def _text(connection: Connection, agent_id: str, digest: str) -> str:
    return blobs.whole(connection, agent_id, digest).decode("utf-8", "surrogatepass")


def _prompt_at(connection: Connection, agent_id: str, run_id: str, step: int | None) -> SentPrompt:
    rows = connection.execute(
        select(run_events.c.step, run_events.c.payload)
        .where(
            run_events.c.agent_id == agent_id,
            run_events.c.run_id == run_id,
            run_events.c.kind == PROMPT,
        )
        .order_by(run_events.c.number)
    ).all()
    packed: list[dict[str, Any]] = []
    for row in rows:
        packed = packed[: row.payload["same"]] + row.payload["messages"]
        if row.step == step:
            break
    else:
        if step is not None or not rows:
            steps = f"it has steps {rows[0].step} to {rows[-1].step}" if rows else "it has none"
            wanted = "" if step is None else f" {step}"
            raise NotFound(f"run {run_id!r} has no step{wanted}; {steps}", run_id=run_id)
    messages = [_unpacked(connection, agent_id, one) for one in packed]
    return SentPrompt(step=row.step, messages=messages, system=row.payload["system"])


def _events(connection: Connection, agent_id: str, run_id: str) -> list[RunEvent]:
    rows = connection.execute(
        select(run_events)
        .where(run_events.c.agent_id == agent_id, run_events.c.run_id == run_id)
        .order_by(run_events.c.number)
    )
    fields = RunEvent.model_fields
    return [
        RunEvent.model_validate({k: v for k, v in row._mapping.items() if k in fields})
        for row in rows
    ]


def _latest(connection: Connection, agent_id: str, limit: int) -> list[Run]:
    rows = connection.execute(
        select(runs)
        .where(runs.c.agent_id == agent_id)
        .order_by(runs.c.started_at.desc(), runs.c.run_id)
        .limit(limit)
    ).all()
    return [_run(connection, agent_id, dict(row._mapping)) for row in rows]


def _get(connection: Connection, agent_id: str, run_id: str) -> Run:
    row = connection.execute(
        select(runs).where(runs.c.agent_id == agent_id, runs.c.run_id == run_id)
    ).first()
    if row is None:
        raise NotFound(f"no run {run_id!r} for agent {agent_id!r}", run_id=run_id)
    return _run(connection, agent_id, dict(row._mapping))


def _run(connection: Connection, agent_id: str, values: dict[str, Any]) -> Run:
    prompts = connection.scalars(
        select(run_events.c.payload).where(
            run_events.c.agent_id == agent_id,
            run_events.c.run_id == values["run_id"],
            run_events.c.kind == PROMPT,
        )
    ).all()
    sent = sum(payload["tokens"] for payload in prompts)
    del values["agent_id"]
    return Run.model_validate(values | {"steps": len(prompts), "tokens_sent": sent})
