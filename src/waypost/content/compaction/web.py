"""Web pages: title, description, headings, the first real paragraph, and links by name."""

from __future__ import annotations

import re

from waypost.content.compaction.base import Compacted, clip, listing, media_is
from waypost.content.markup import Page, read_page
from waypost.content.material import Material

_LOOKS_HTML = re.compile(r"<(?:!doctype html|html|head|body|div|p|table|h[1-6]|a\s)", re.IGNORECASE)
_LONG_PARAGRAPH = 80


class WebPageCompactor:
    name = "web page"

    def confidence(self, material: Material) -> float:
        if media_is(material, "text/html", "application/xhtml+xml"):
            return 0.95
        start = material.head[:2000].lstrip().lower()
        if start.startswith(("<!doctype html", "<html")):
            return 0.95
        found = len(_LOOKS_HTML.findall(material.head[:4000]))
        return 0.7 if found >= 3 else 0.0

    def compact(self, material: Material) -> Compacted:
        page = read_page(material.head)
        lines = [clip(page.description)] if page.description else []
        lines += listing("Headings", page.headings, 10)
        lines += [clip(text) for text in _leading(page)]
        lines += listing("Links", _link_names(page), 8)
        what = "web page" + (f" with {page.tables} tables" if page.tables > 1 else "")
        return Compacted(what, tuple(lines), "headings, first text, links", page.title or None)


def _leading(page: Page) -> list[str]:
    """The first paragraphs that are prose: menus and captions are short."""
    shown = set(page.headings) | {page.title}
    prose = [text for text in page.paragraphs if len(text) >= _LONG_PARAGRAPH]
    return [text for text in prose or page.paragraphs if text not in shown][:3]


def _link_names(page: Page) -> list[str]:
    named = [f"{clip(words, 40)} ({target})" for words, target in page.links if words]
    return [name for name in named if "(#" not in name and "(javascript:" not in name]
