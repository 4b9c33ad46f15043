"""Remembers vectors, so that the same text is paid for once.

In front of any embedder: first an in-process memory of the most recently used texts, then
an optional persistent one (``EmbeddingCache``), then the embedder, asked only for what is
missing and only once per distinct text. Documents and queries are kept apart, since some
embedders treat them differently; queries stay in the process, so that reading never waits
for a write. Texts are kept as digests, never in the clear. A failing persistent cache is an
error of that cache and is not hidden here.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from waypost.embed.port import Embedder, EmbeddingCache, Vectors


def text_digest(text: str, *, purpose: str = "document") -> str:
    """Return the key under which a text's vector is kept."""
    content = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class CachedEmbedder:
    """An embedder with a memory of ``capacity`` vectors; closing it closes the inner one."""

    def __init__(
        self,
        inner: Embedder,
        *,
        capacity: int = 4096,
        cache: EmbeddingCache | None = None,
        on_lookup: Callable[[int, int], None] = lambda hits, misses: None,
    ) -> None:
        self.name = inner.name
        self.dimension = inner.dimension
        self.hits = 0
        self.misses = 0
        self._inner = inner
        self._capacity = capacity
        self._cache = cache
        self._on_lookup = on_lookup
        self._recent: OrderedDict[str, Vectors] = OrderedDict()

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        by_digest = {text_digest(text): text for text in texts}
        known = await self._known(list(by_digest))
        missing = [digest for digest in by_digest if digest not in known]
        if missing:
            rows = await self._inner.embed_documents([by_digest[digest] for digest in missing])
            fresh = dict(zip(missing, rows, strict=True))
            await self._remember(fresh)
            known.update(fresh)
        found = [known[text_digest(text)] for text in texts]
        return np.array(found, dtype=np.float32).reshape(len(texts), self.dimension)

    async def embed_query(self, text: str) -> Vectors:
        digest = text_digest(text, purpose="query")
        known = self._recently([digest])
        self._count(known, 1)
        if digest not in known:
            known[digest] = await self._inner.embed_query(text)
        self._keep(known)
        return known[digest].copy()

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _known(self, digests: Sequence[str]) -> dict[str, Vectors]:
        known = self._recently(digests)
        missing = [digest for digest in digests if digest not in known]
        if missing and self._cache is not None:
            stored = await self._cache.get_many(self.name, missing)
            known.update(stored)
        self._count(known, len(digests))
        self._keep(known)
        return known

    def _recently(self, digests: Sequence[str]) -> dict[str, Vectors]:
        return {digest: self._recent[digest] for digest in digests if digest in self._recent}

    def _count(self, known: dict[str, Vectors], asked: int) -> None:
        self.hits += len(known)
        self.misses += asked - len(known)
        self._on_lookup(len(known), asked - len(known))

    async def _remember(self, fresh: dict[str, Vectors]) -> None:
        self._keep(fresh)
        if self._cache is not None:
            await self._cache.set_many(self.name, fresh)

    def _keep(self, vectors: dict[str, Vectors]) -> None:
        for digest, vector in vectors.items():
            self._recent[digest] = vector
            self._recent.move_to_end(digest)
        while len(self._recent) > self._capacity:
            self._recent.popitem(last=False)
