"""Reading HTML of any quality: a scanner that goes through the text once and never fails.

It is no parser: it yields tags and texts in order, leaves out scripts, styles and comments, and
treats what is broken as text or skips it. Each position is visited a fixed number of times, so
malformed pages cost no more than good ones (the standard parser is quadratic on some).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape

_NAME = re.compile(r"/?[a-zA-Z][a-zA-Z0-9:-]{0,40}")
_ATTRIBUTE = re.compile(r"([a-zA-Z-]{1,40})\s{0,9}=\s{0,9}(\"[^\"]*\"|'[^']*'|[^\s>\"']+)")
_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "iframe"})
_BLOCKS = frozenset(
    {"p", "div", "section", "article", "li", "tr", "td", "th", "br", "hr", "ul", "ol", "table"}
    | {"h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "dt", "dd", "title", "option"}
    | {"header", "footer", "nav", "main", "aside", "figcaption"}
)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4"})
_LONGEST_TAG = 4000


@dataclass
class Page:
    """What a page holds, in reading order."""

    title: str = ""
    description: str = ""
    headings: list[str] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    tables: int = 0


def read_page(html: str) -> Page:
    """Read a page's title, headings, paragraphs and links."""
    reader = _PageReader()
    for tag, text in scan(html):
        reader.take(tag, text)
    reader.end_block()
    return reader.page


def page_text(html: str) -> str:
    """The readable text of a page, one block per line."""
    page = read_page(html)
    return "\n".join(page.paragraphs)


def scan(html: str) -> Iterator[tuple[str, str]]:
    """Yield ``(tag, attributes text)`` for tags and ``("", text)`` for texts."""
    position, size = 0, len(html)
    while position < size:
        start = html.find("<", position)
        if start < 0:
            yield "", html[position:]
            return
        if start > position:
            yield "", html[position:start]
        tag, attributes, position = _read_tag(html, start)
        if tag == "<":
            yield "", "<"
        elif tag:
            yield tag, attributes
        if tag in _SKIPPED:
            position = _after_element(html, tag, position)


def _read_tag(html: str, start: int) -> tuple[str, str, int]:
    """Read what begins with "<": its name, attributes and the place behind it."""
    if html.startswith("<!--", start):
        return "", "", _after(html, "-->", start + 4)
    if html.startswith(("<!", "<?"), start):
        return "", "", _after(html, ">", start + 2)
    name = _NAME.match(html, start + 1)
    if not name:
        return "<", "", start + 1
    end = html.find(">", name.end(), name.end() + _LONGEST_TAG)
    if end < 0:
        return "<", "", start + 1
    return name.group().lower(), html[name.end() : end], end + 1


def _after(html: str, mark: str, start: int) -> int:
    """The place behind the next mark; without one, the rest of the text is skipped."""
    found = html.find(mark, start)
    return len(html) if found < 0 else found + len(mark)


def _after_element(html: str, tag: str, start: int) -> int:
    match = re.compile(rf"</{tag}\b[^>]{{0,100}}>", re.IGNORECASE).search(html, start)
    return match.end() if match else len(html)


class _PageReader:
    def __init__(self) -> None:
        self.page = Page()
        self._block: list[str] = []
        self._heading = ""
        self._link: tuple[str, int] | None = None

    def take(self, tag: str, text: str) -> None:
        if not tag:
            self._block.append(unescape(text))
        elif tag == "a":
            self._link = (_attribute(text, "href"), len(self._block))
        elif tag == "/a":
            self._end_link()
        elif tag == "meta" and _attribute(text, "name").lower() == "description":
            self.page.description = self.page.description or _attribute(text, "content")
        elif tag.lstrip("/") in _BLOCKS:
            self._block_boundary(tag)

    def end_block(self) -> str:
        words = " ".join("".join(self._block).split())
        self._block.clear()
        if words:
            self.page.paragraphs.append(words)
        return words

    def _block_boundary(self, tag: str) -> None:
        words = self.end_block()
        if tag == "/title":
            self.page.title = self.page.title or words
        elif tag.startswith("/") and tag[1:] in _HEADINGS and words:
            self.page.headings.append(words)
        elif tag == "table":
            self.page.tables += 1

    def _end_link(self) -> None:
        if self._link and self._link[0]:
            target, start = self._link
            words = " ".join("".join(self._block[start:]).split())
            self.page.links.append((words, target))
        self._link = None


def _attribute(attributes: str, name: str) -> str:
    for match in _ATTRIBUTE.finditer(attributes):
        if match.group(1).lower() == name:
            return unescape(match.group(2).strip("\"'"))
    return ""
