"""Compaction: a result in a few lines, by the plugin that knows its kind.

``compact`` asks every plugin how sure it is of a sample and takes the surest; names of things
that an agent may need again (ids, paths, addresses) are listed when the plugin's own lines left
them out. Built-in plugins can be joined or overruled by packages that declare an entry point in
the group ``waypost.compaction``: a class or function that returns a
:class:`~waypost.content.compaction.base.Compactor`. Pure but for that lookup, which runs once.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache

from waypost.content.compaction.base import Compacted, Compactor, clip, fit_lines
from waypost.content.compaction.binary import BinaryCompactor
from waypost.content.compaction.diff import DiffCompactor
from waypost.content.compaction.email_thread import EmailCompactor
from waypost.content.compaction.json_value import JsonCompactor
from waypost.content.compaction.log import LogCompactor
from waypost.content.compaction.plain import PlainTextCompactor
from waypost.content.compaction.rows import RowsCompactor
from waypost.content.compaction.search import SearchResultsCompactor
from waypost.content.compaction.source_code import SourceFileCompactor
from waypost.content.compaction.web import WebPageCompactor
from waypost.content.material import Material
from waypost.content.mentions import mentions
from waypost.tokens import count_tokens

__all__ = [
    "BUILT_IN",
    "Compacted",
    "Compactor",
    "choose",
    "compact",
    "compactors",
    "digest",
    "fit_lines",
]

ENTRY_POINTS = "waypost.compaction"
_NAMES = 80
_ROOM_FOR_NAMES = 8

BUILT_IN: tuple[Compactor, ...] = (
    BinaryCompactor(),
    DiffCompactor(),
    EmailCompactor(),
    WebPageCompactor(),
    SearchResultsCompactor(),
    RowsCompactor(),
    JsonCompactor(),
    SourceFileCompactor(),
    LogCompactor(),
    PlainTextCompactor(),
)

logger = logging.getLogger(__name__)


@cache
def compactors() -> tuple[Compactor, ...]:
    """All plugins, those of other packages first. One that fails to load is left out, logged."""
    from importlib.metadata import entry_points

    found: list[Compactor] = []
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            found.append(entry.load()())
        except Exception:
            logger.exception("compaction plugin %s could not be loaded", entry.name)
    return (*found, *BUILT_IN)


def choose(material: Material, plugins: Sequence[Compactor] | None = None) -> Compactor:
    """The surest plugin; of equals, the first."""
    candidates = compactors() if plugins is None else plugins
    return max(candidates, key=lambda plugin: plugin.confidence(material))


def compact(material: Material, plugins: Sequence[Compactor] | None = None) -> Compacted:
    """Compact a sample by the surest plugin. A plugin of another package may fail; ours answer."""
    plugin = choose(material, plugins)
    if plugin in BUILT_IN:
        return plugin.compact(material)
    try:
        return plugin.compact(material)
    except Exception:
        logger.exception("compaction plugin %s failed; using the built-in ones", plugin.name)
        return choose(material, BUILT_IN).compact(material)


def digest(compacted: Compacted, material: Material, tokens: int) -> tuple[str, bool]:
    """The plugin's lines in three fifths of the room or more, then names that they left out.

    Returns the text, of at most ``tokens`` tokens, and whether every line fitted.
    """
    body, whole = fit_lines(compacted.lines, tokens * 3 // 5)
    if whole:
        body, whole = fit_lines(compacted.lines, tokens)
    left = tokens - count_tokens(body) - 1
    names = [name for name in mentions(material.text, _NAMES) if name not in body]
    if names and left > _ROOM_FOR_NAMES:
        listed, _ = fit_lines(["Names: " + ", ".join(clip(name, 100) for name in names)], left)
        body = f"{body}\n{listed}" if body else listed
    return body, whole
