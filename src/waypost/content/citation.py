"""Citations: what the model sees in place of a result that it has already seen in full.

A citation names the id, what it stands for, where it came from, its size, what was kept, and how
to open it; then come the kept lines. ``cite`` makes one of exactly at most ``tokens`` tokens,
and never one that is longer than the text it replaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from waypost.content.compaction import compact, digest
from waypost.content.compaction.base import Compacted, clip
from waypost.content.material import Material, readable_size
from waypost.content.mentions import mentions
from waypost.tokens import count_tokens

CITATION_TOKENS = 160
_SHORTEST = 24
_MANY_NAMES = 30


@dataclass(frozen=True)
class Citation:
    """A citation as text, and what is left of it once its step is folded away.

    ``label`` is the id, what it is and its size; ``telling`` its title or most telling line;
    ``names`` those of its names that this leaves out, the rarest first.
    """

    content_id: str
    text: str
    label: str
    telling: str = ""
    names: tuple[str, ...] = ()

    @cached_property
    def tokens(self) -> int:
        return count_tokens(self.text)


def cite(
    content_id: str,
    material: Material,
    *,
    token_count: int,
    tokens: int = CITATION_TOKENS,
    compacted: Compacted | None = None,
) -> Citation:
    """Cite a stored result in at most ``tokens`` tokens (the head line alone may need more)."""
    result = compacted or compact(material)
    head = heading(content_id, result, material, token_count)
    room = max(tokens - count_tokens(head) - 1, 0)
    body, _ = digest(result, material, room)
    text = f"{head}\n{body}" if body else head
    label = f"[{content_id}] {result.what.partition(',')[0]}, {readable_size(material.size)}"
    telling = result.title or next(iter(result.lines), "")
    names = tuple(name for name in mentions(material.text, _MANY_NAMES) if name not in telling)
    return Citation(content_id, text, label, telling, names)


def heading(content_id: str, compacted: Compacted, material: Material, token_count: int) -> str:
    title = f" “{clip(compacted.title, 80)}”" if compacted.title else ""
    source = f" from {clip(material.source, 60)}" if material.source else ""
    size = f"{readable_size(material.size)}, {token_count:,} tokens"
    return (
        f"[{content_id}] {compacted.what}{title}{source} ({size}); "
        f'kept {compacted.kept}; retrieve_from_memory(id="{content_id}")'
    )


def worth_citing(tokens: int, citation: Citation) -> bool:
    """A citation must be clearly shorter than what it replaces."""
    return citation.tokens + _SHORTEST <= tokens
