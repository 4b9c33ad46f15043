"""Recalled text as data: quoted so that it cannot leave its fence.

Two walls, neither of them a secret. Every line of recalled text is indented or
starts with "- ", so a line that starts with anything else is ours. And the mark
in the fences, derived from the agent's id, is broken up wherever recalled text
contains it, also when it is disguised with invisible or full-width characters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2s
from textwrap import dedent

_LINE_BREAKS = re.compile(r"\r\n|[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
# Control characters, bidirectional overrides, zero-width marks, tag characters: text a reader
# of the rendered context would not see, and a model would.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_JOINERS = "[\u200c\u200d\ufe00-\ufe0f]*"


class Fence:
    """The delimiters of one agent's contexts."""

    def __init__(self, agent_id: str) -> None:
        self.mark = blake2s(agent_id.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
        self.opening = f"<data {self.mark}>"
        self.closing = f"</data {self.mark}>"
        self._disguised = re.compile(_JOINERS.join(self.mark), re.IGNORECASE)
        self._broken = f"{self.mark[:3]}·{self.mark[3:]}"

    def quote(self, text: str) -> str:
        """One recalled text as an item: first line after "- ", further lines indented."""
        return "- " + "\n  ".join(self.lines(text)) + "\n"

    def lines(self, text: str) -> list[str]:
        """The visible lines of a recalled text, none of them able to act as a delimiter.

        Lines keep their indentation against each other, which carries meaning in code.
        """
        shown = dedent(clean(self._without_mark(text))).split("\n")
        return [line.rstrip() for line in shown if line.strip()] or ["(empty)"]

    def _without_mark(self, text: str) -> str:
        text = _INVISIBLE.sub("", text)
        if not text.isascii():
            folded = unicodedata.normalize("NFKC", text)
            if self._disguised.search(folded):
                text = folded
        return self._disguised.sub(self._broken, text)


@lru_cache(maxsize=4096)
def clean(text: str) -> str:
    """Every kind of line break becomes a newline; what cannot be seen is taken out."""
    return _INVISIBLE.sub("", _LINE_BREAKS.sub("\n", text)).encode(errors="replace").decode()
