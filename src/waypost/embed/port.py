"""What Waypost needs of an embedder: texts in, unit vectors out.

Rows come back in the order of the texts, as float32, each of length one, so that a
dot product is a cosine. The same embedder gives the same text the same vector.
``name`` identifies the vector space: vectors of two names are never compared.

An embedder that fails raises ``ProviderError``, one that may work later
``ProviderUnavailable``; vectors of an unexpected length are ``DimensionMismatch``.
It never returns fewer rows than texts, and never a zero vector for a failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of one space.

    One whose calls cost time or money says so with an attribute ``costly = True``; the
    vectors of documents are then kept and not asked for twice.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, shape ``(len(texts), dimension)``; no texts give no rows."""
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question, shape ``(dimension,)``."""
        ...

    async def aclose(self) -> None: ...


class EmbeddingCache(Protocol):
    """Where vectors can be kept between processes; losing entries is always allowed."""

    async def get_many(self, name: str, digests: Sequence[str]) -> Mapping[str, Vectors]:
        """Return the vectors known for these text digests under this embedder's name."""
        ...

    async def set_many(self, name: str, vectors: Mapping[str, Vectors]) -> None: ...
