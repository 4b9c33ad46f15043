"""What the researcher can do: search a folder of pages, and read one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from waypost.agents import RunContext, tool
from waypost.agents.tools import ToolError
from waypost.content.markup import read_page

PAGES = Path(__file__).parent / "pages"


@tool
def search_pages(run: RunContext, query: str) -> dict[str, Any]:
    """Search the pages by words. Gives title, url and a snippet of the best."""
    wanted = _words(query)
    found = [(len(wanted & _words(path.read_text())), path) for path in _pages(run)]
    best = sorted((pair for pair in found if pair[0]), key=lambda pair: (-pair[0], pair[1].name))
    return {"query": query, "results": [_hit(path) for _, path in best]}


@tool
def visit_page(run: RunContext, url: str) -> str:
    """Read a page by the url that a search gave."""
    pages = {path.name: path for path in _pages(run)}
    if url not in pages:
        raise ToolError(f"there is no page {url!r}; there are {', '.join(pages)}")
    return pages[url].read_text()


def _pages(run: RunContext) -> list[Path]:
    """The folder is the application's: it travels in the context, which no model sees."""
    return sorted(run.context.glob("*.html"))


def _hit(path: Path) -> dict[str, str]:
    page = read_page(path.read_text())
    prose = next(text for text in page.paragraphs if len(text) > 80)
    return {"title": page.title, "url": f"./{path.name}", "snippet": prose[:120]}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.lower()))
