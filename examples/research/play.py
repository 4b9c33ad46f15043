"""The part of the model, when no real one is configured.

Each ``yield`` is one answer; what comes back is the next prompt. The play knows the way, not the
facts: names and years are read from the prompt, as a model would, and a page that is no longer
shown in full has to be opened again by the id in its citation.
"""

from __future__ import annotations

import re
from html import unescape

from examples.model import Messages, Play, call, read


def play() -> Play:
    yield ""  # the first prompt says nothing new
    yield call(
        "First, what is there about the storm?", "search_pages", query="lens lost, storm of 1911"
    )
    yield call("The overview names all the lights.", "visit_page", url="lights-of-skarv.html")
    messages = yield call("Now the night itself.", "visit_page", url="storm-1911.html")
    light = _found(r"The night at ([A-Z]\w+ [A-Z]\w+)", messages)
    storm = int(_found(r"The storm of November (\d{4})", messages))
    yield call(f"It was {light}. Its own page comes next.", "visit_page", url="hollow-rock.html")
    messages = yield call("And who made the new lens?", "visit_page", url="lens-workshop.html")
    maker = unescape(_found(r"<title>(.+?), lens makers", messages))
    messages = yield call(
        f"The overview says when {light} was first lit, but then it had reflectors. Its own page, "
        "of which I see only a citation by now, must say when the lens came: I ask it.",
        "retrieve_from_memory",
        id=_cited(f"{light} light", messages),
        question="When was the first lens fitted?",
    )
    fitted = int(_found(r"lens was fitted in the spring of (\d{4})", messages))
    years = storm - fitted
    yield call(
        f"{storm} less {fitted} is {years}.",
        "update_payload",
        changes={"light": light, "maker": maker, "years": years},
    )
    messages = yield (
        f"{light} lost its lens in the storm of {storm}; {maker} made the new one. The old lens "
        f"had been fitted in {fitted} and had served {years} years."
    )
    known = _found(r"; ([^;]{3,40}) made the new one", messages)
    yield f"{known} made it, after the storm of {storm} had broken the one before."


def _found(pattern: str, messages: Messages) -> str:
    match = re.search(pattern, read(messages))
    if match is None:
        raise LookupError(f"the prompt holds nothing like {pattern!r}")
    return match.group(1)


def _cited(title: str, messages: Messages) -> str:
    """The id of the citation with this title."""
    return _found(rf"\[(c-\w+)\] web page[^\n]*{title}", messages)
