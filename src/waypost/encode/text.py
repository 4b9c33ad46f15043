"""From a text to what is known of it: summary, names, facts and keywords.

The local encoder. It runs on every write, so it is one pass of compiled patterns per part, and
the work is bounded: of a very long text only the beginning and the end are read.
"""

from __future__ import annotations

from dataclasses import dataclass

from waypost.encode.entities import find_entities
from waypost.encode.facts import find_facts
from waypost.encode.keywords import find_keywords
from waypost.encode.sentences import split_sentences, summarize
from waypost.model import Fact, MemoryType

_HEAD, _TAIL = 6000, 2000


@dataclass(frozen=True, slots=True)
class Encoded:
    """What an encoder found in one text; type and kind only where a model chose them."""

    summary: str
    entities: tuple[str, ...]
    facts: tuple[Fact, ...]
    keywords: tuple[str, ...]
    type: MemoryType | None = None
    kind: str | None = None
    encoder: str = "local"
    fallback_reason: str | None = None


def encode(text: str, *, source: str | None = None) -> Encoded:
    """Encode a text. ``source`` is who speaks: the subject of what is said in the first person."""
    read = text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    sentences = split_sentences(read)
    entities = find_entities(read)
    return Encoded(
        summary=summarize(read, sentences),
        entities=tuple(entities),
        facts=tuple(find_facts(sentences, source=source)),
        keywords=tuple(find_keywords(read, entities)),
    )
