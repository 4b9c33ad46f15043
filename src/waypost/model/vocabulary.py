"""The closed vocabularies of the model, and the open one of memory kinds."""

from __future__ import annotations

from enum import StrEnum


class MemoryType(StrEnum):
    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


class Tier(StrEnum):
    """Where a memory lives: in one task, in one project, or with the agent everywhere."""

    TASK = "task"
    PROJECT = "project"
    GLOBAL = "global"


class StageType(StrEnum):
    PLANNING = "planning"
    EXECUTION = "execution"
    REFLECTION = "reflection"
    VERIFICATION = "verification"


class LinkKind(StrEnum):
    RELATED = "related"
    PARENT = "parent"
    SUPERSEDES = "supersedes"
    CITES = "cites"


class Origin(StrEnum):
    """Who or what the text came from. It decides the trust a new memory starts with."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    DOCUMENT = "document"
    IMPORT = "import"
    DERIVED = "derived"
    SYSTEM = "system"


class Trust(StrEnum):
    """How far the text may be believed. Ordered: a summary has the lowest of its sources."""

    UNTRUSTED = "untrusted"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        return list(Trust).index(self)

    @staticmethod
    def lowest(levels: list[Trust]) -> Trust:
        return min(levels, key=lambda level: level.rank, default=Trust.MEDIUM)


TRUST_OF_ORIGIN: dict[Origin, Trust] = {
    Origin.USER: Trust.HIGH,
    Origin.SYSTEM: Trust.HIGH,
    Origin.AGENT: Trust.MEDIUM,
    Origin.DERIVED: Trust.MEDIUM,
    Origin.IMPORT: Trust.MEDIUM,
    Origin.TOOL: Trust.LOW,
    Origin.DOCUMENT: Trust.UNTRUSTED,
}

# Kinds are an open vocabulary; these are the ones Waypost itself writes or gives a section to.
INTERACTION = "interaction"
MESSAGE = "message"
REASONING = "reasoning"
TOOL_OUTPUT = "tool_output"
DECISION = "decision"
CONVENTION = "convention"
CONSTRAINT = "constraint"
FAILURE = "failure"
PATTERN = "pattern"
PREFERENCE = "preference"
FACT = "fact"
STRATEGY = "strategy"
NOTE = "note"
ERROR = "error"
