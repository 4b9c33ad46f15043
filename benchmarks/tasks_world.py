"""A made-up team whose facts are told, filed and changed over weeks: the ground of ``tasks``.

Each fact is an attribute of a service. *Filed* facts stand in one of the team's notes. *Told* ones
were only ever said by the user. *Stale* ones stand in a note, but the user has since told a newer
value. Sessions follow each other day by day: the user tells a few things among small talk, or sets
a task that needs two or three facts about one service. Everything comes from one seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

SERVICES = tuple(
    f"{area}-{part}"
    for area in ("billing", "search", "stock", "mail", "login", "map")
    for part in ("api", "web", "job")
)
PEOPLE = ("Ingrid Berg", "Tomas Lund", "Amina Diallo", "Jonas Weber", "Mei Tanaka", "Rosa Ortiz")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")

STATED = {
    "window": ("the deploy window of {s} is {v}", "we release {s} on {v}"),
    "owner": ("the owner of {s} is {v}", "questions about {s} go to {v}"),
    "port": ("the port of {s} is {v}", "{s} listens on port {v}"),
    "logs": ("the log folder of {s} is {v}", "{s} writes its logs to {v}"),
    "limit": ("the rate limit of {s} is {v} a minute", "{s} takes {v} a minute at most"),
}
ASKED = {
    "window": ("when we may deploy", "the deploy window"),
    "owner": ("who owns it", "whom to ask"),
    "port": ("its port", "where it listens"),
    "logs": ("its log folder", "where the logs are"),
    "limit": ("its rate limit", "how much it takes a minute"),
}
KINDS = ("filed", "told", "stale")
_WORK = ("release note", "hand-over page", "answer to the auditors", "on-call sheet")
_TALK = (
    "The coffee machine on the second floor is repaired.",
    "I shall be away in the afternoon.",
    "The stand-up was short today.",
    "Somebody left an umbrella in the meeting room.",
)


@dataclass(frozen=True)
class Session:
    """What the user says; ``expected`` holds the right values when it is a task."""

    text: str
    service: str = ""
    expected: dict[str, str] = field(default_factory=dict)


class World:
    """Facts, notes and sessions of one seed."""

    def __init__(self, seed: int, sessions: int) -> None:
        self._random = random.Random(seed)
        self._kind = {
            (service, attribute): self._random.choice(KINDS)
            for service in SERVICES
            for attribute in STATED
        }
        self._filed = {key: self._value(key[1]) for key in self._kind}
        self._true = dict(self._filed)
        self._told: set[tuple[str, str]] = set()
        self.notes = dict(self._notes())
        self.sessions = list(self._sessions(sessions))

    def _value(self, attribute: str) -> str:
        pick = self._random
        return {
            "window": lambda: f"{pick.choice(DAYS)} at {pick.randint(7, 18)}:{pick.choice('03')}0",
            "owner": lambda: pick.choice(PEOPLE),
            "port": lambda: str(pick.randint(1024, 65535)),
            "logs": lambda: f"/srv/logs/{pick.choice('abcdef')}{pick.randint(10, 99)}",
            "limit": lambda: f"{pick.randint(2, 90) * 10} requests",
        }[attribute]()

    def _stated(self, key: tuple[str, str], value: str) -> str:
        text = self._random.choice(STATED[key[1]]).format(s=key[0], v=value)
        return text[0].upper() + text[1:] + "." if text[0] != key[0][0] else text + "."

    def _notes(self) -> Iterator[tuple[str, str]]:
        """Fourteen notes with the filed facts in no order, each with other remarks between."""
        lines = [
            self._stated(key, self._filed[key])
            for key, kind in self._kind.items()
            if kind != "told"
        ]
        self._random.shuffle(lines)
        for number in range(14):
            own = [part for line in lines[number::14] for part in (line, self._remark())]
            yield f"notes/{number + 1:02d}.md", "\n".join([f"# Notes, part {number + 1}", *own])

    def _remark(self) -> str:
        service = self._random.choice(SERVICES)
        return f"- reviewed {service} with {self._random.choice(PEOPLE)}, nothing to report"

    def _sessions(self, count: int) -> Iterator[Session]:
        for number in range(count):
            yield self._telling() if number % 3 == 0 else self._task()

    def _telling(self) -> Session:
        """Two or three facts that stand in no note, or no longer as the note has them."""
        open_keys = [key for key, kind in self._kind.items() if kind != "filed"]
        said = []
        for key in self._random.sample(open_keys, self._random.randint(2, 3)):
            self._true[key] = self._value(key[1])
            self._told.add(key)
            said.append(self._stated(key, self._true[key]))
        said.insert(self._random.randint(0, len(said)), self._random.choice(_TALK))
        return Session("For later: " + " ".join(said))

    def _task(self) -> Session:
        """A task whose facts can be known by now: they are filed, or have been told."""
        known = [key for key, kind in self._kind.items() if kind != "told" or key in self._told]
        recent = [key for key in known if key in self._told]
        # Half of the tasks are about something the user has spoken of.
        about = self._random.choice(recent if recent and self._random.random() < 0.5 else known)
        others = [key for key in known if key[0] == about[0] and key != about]
        extra = self._random.sample(others, min(len(others), self._random.randint(1, 2)))
        keys = [about, *extra]
        asked = ", ".join(self._random.choice(ASKED[attribute]) for _, attribute in keys)
        text = f"Write the {self._random.choice(_WORK)} of {about[0]}. Say {asked}."
        return Session(text, about[0], {key[1]: self._true[key] for key in keys})
