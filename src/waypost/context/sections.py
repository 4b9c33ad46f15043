"""The sections of a context, in the order they are read.

The order runs from what seldom changes to what changes with every step, so that
a new memory alters the end of the text and a prompt cache keeps the beginning.
"""

from __future__ import annotations

from enum import StrEnum

from waypost.model import vocabulary
from waypost.model.memory import MemoryRecord
from waypost.model.vocabulary import MemoryType


class Section(StrEnum):
    TASK = "Current task"
    PREFERENCES = "Preferences and conventions"
    MISTAKES = "Mistakes to avoid"
    PROCEDURES = "How it was done before"
    KNOWLEDGE = "Relevant knowledge"
    PAST = "Relevant past interactions"
    CITATIONS = "Citations"


PLACES = {section: place for place, section in enumerate(Section)}

_OF_KIND = {
    vocabulary.PREFERENCE: Section.PREFERENCES,
    vocabulary.CONVENTION: Section.PREFERENCES,
    vocabulary.CONSTRAINT: Section.PREFERENCES,
    vocabulary.FAILURE: Section.MISTAKES,
    vocabulary.ERROR: Section.MISTAKES,
    vocabulary.STRATEGY: Section.PROCEDURES,
    vocabulary.PATTERN: Section.PROCEDURES,
    vocabulary.DECISION: Section.KNOWLEDGE,
    vocabulary.FACT: Section.KNOWLEDGE,
    vocabulary.INTERACTION: Section.PAST,
    vocabulary.MESSAGE: Section.PAST,
    vocabulary.REASONING: Section.PAST,
    vocabulary.TOOL_OUTPUT: Section.PAST,
}
_OF_TYPE = {
    MemoryType.WORKING: Section.PAST,
    MemoryType.EPISODIC: Section.PAST,
    MemoryType.SEMANTIC: Section.KNOWLEDGE,
    MemoryType.PROCEDURAL: Section.PROCEDURES,
}


def section_of(memory: MemoryRecord) -> Section:
    """Where a memory is shown: by its kind, else by its type."""
    return _OF_KIND.get(memory.kind, _OF_TYPE[memory.type])
