"""Reading the public retrieval data sets unchanged, packed or not, into one shape.

A ``Store`` is what one agent remembers and what it is asked afterwards. LoCoMo gives one
per conversation, LongMemEval one per question.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ADVERSARIAL = "5"


@dataclass(frozen=True, slots=True)
class Turn:
    turn_id: str
    session_id: str
    speaker: str
    text: str
    time: datetime
    by_user: bool


@dataclass(frozen=True, slots=True)
class Question:
    """``turns`` and ``sessions`` hold the evidence. ``asked_at`` is None when not recorded."""

    text: str
    category: str
    turns: frozenset[str]
    sessions: frozenset[str]
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Store:
    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def find(path: Path, dataset: str) -> Path:
    """The file of a data set: the path itself, or the first that fits below a folder."""
    if not path.is_dir():
        return path
    patterns = ("*.json.xz", "*.json")
    found = [file for p in patterns for file in sorted((path / dataset).glob(p))]
    found = found or [file for p in patterns for file in sorted(path.glob(p))]
    if not found:
        raise SystemExit(f"no .json or .json.xz file of {dataset} in {path} or {path / dataset}")
    return found[0]


def read_json(path: Path) -> Any:
    if path.suffix == ".xz":
        with lzma.open(path, "rt", encoding="utf-8") as packed:
            return json.load(packed)
    return json.loads(path.read_text(encoding="utf-8"))


def locomo(path: Path) -> Iterator[Store]:
    """One store per conversation; questions whose evidence cannot be resolved are left out."""
    data = read_json(path)
    for number, sample in enumerate([data] if isinstance(data, dict) else data, 1):
        turns = tuple(_locomo_turns(sample["conversation"]))
        known = {turn.turn_id: turn.session_id for turn in turns}
        questions = (_locomo_question(item, known) for item in sample["qa"])
        yield Store(f"conversation {number}", turns, tuple(q for q in questions if q.turns))


def longmemeval(path: Path) -> Iterator[Store]:
    """One store per question; abstention questions, which have no evidence, are left out."""
    data = read_json(path)
    sessions = data["sessions"] if isinstance(data, dict) else None
    for item in data["questions"] if isinstance(data, dict) else data:
        if item["question_id"].endswith("_abs"):
            continue
        turns = tuple(_longmemeval_turns(item, sessions))
        yield Store(item["question_id"], turns, (_longmemeval_question(item, turns, sessions),))


def _locomo_turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    names = [name for name in conversation if re.fullmatch(r"session_\d+", name)]
    for name in sorted(names, key=lambda name: int(name.removeprefix("session_"))):
        start = _utc(conversation[f"{name}_date_time"], "%I:%M %p on %d %B, %Y")
        for place, turn in enumerate(conversation[name]):
            picture = turn.get("blip_caption")
            yield Turn(
                turn_id=turn["dia_id"],
                session_id=name,
                speaker=turn["speaker"],
                text=f"{turn['text']} [shares {picture}]" if picture else turn["text"],
                time=start + timedelta(seconds=place),
                by_user=True,
            )


def _locomo_question(item: dict[str, Any], known: dict[str, str]) -> Question:
    mentioned = re.findall(r"D\d+:\d+", " ".join(item["evidence"]))
    turns = frozenset(turn for turn in mentioned if turn in known)
    sessions = frozenset(known[turn] for turn in turns)
    return Question(item["question"], str(item["category"]), turns, sessions)


def _longmemeval_sessions(
    item: dict[str, Any], shared: dict[str, Any] | None
) -> Iterator[tuple[str, datetime, list[dict[str, Any]]]]:
    """Session id, time and turns; a session that occurs twice keeps one id."""
    ids, dates = item["haystack_session_ids"], item["haystack_dates"]
    bodies = item["haystack_sessions"] if shared is None else [shared[name] for name in ids]
    for name, date, turns in zip(ids, dates, bodies, strict=True):
        yield name, _longmemeval_time(date), turns


def _longmemeval_turns(item: dict[str, Any], shared: dict[str, Any] | None) -> Iterator[Turn]:
    for name, start, turns in _longmemeval_sessions(item, shared):
        for place, turn in enumerate(turns):
            if turn["content"].strip():
                yield Turn(
                    turn_id=f"{name}:{place}",
                    session_id=name,
                    speaker=turn["role"],
                    text=turn["content"].replace("\x00", ""),
                    time=start + timedelta(seconds=place),
                    by_user=turn["role"] == "user",
                )


def _longmemeval_question(
    item: dict[str, Any], turns: tuple[Turn, ...], shared: dict[str, Any] | None
) -> Question:
    stored = {turn.turn_id for turn in turns}
    marked = (
        f"{name}:{place}"
        for name, _, body in _longmemeval_sessions(item, shared)
        for place, turn in enumerate(body)
        if turn.get("has_answer")
    )
    return Question(
        text=item["question"],
        category=item["question_type"],
        turns=frozenset(turn for turn in marked if turn in stored),
        sessions=frozenset(item["answer_session_ids"]),
        asked_at=_longmemeval_time(item["question_date"]),
    )


def _longmemeval_time(text: str) -> datetime:
    return _utc(re.sub(r"\s*\(\w+\)", "", text), "%Y/%m/%d %H:%M")


def _utc(text: str, form: str) -> datetime:
    return datetime.strptime(text, form).replace(tzinfo=UTC)
