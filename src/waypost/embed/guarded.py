"""Stands before an embedder that somebody else wrote, and holds it to the port.

Whatever it raises becomes a ``ProviderError``, so that an embedder that breaks costs a
vector and never a write or a recall. Whatever it returns is measured: rows that are too
few, of another length, empty of direction or no numbers at all never reach the store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any

from waypost.exceptions import DimensionMismatch, ProviderError, WaypostError

if TYPE_CHECKING:
    from waypost.embed.port import Embedder, Vectors


class GuardedEmbedder:
    """Another embedder, under the same name and dimension."""

    def __init__(self, inner: Embedder) -> None:
        self.name = inner.name
        self.dimension = inner.dimension
        self.costly = bool(getattr(inner, "costly", False))
        self._inner = inner

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._measured(await self._tried(self._inner.embed_documents(texts)), len(texts))

    async def embed_query(self, text: str) -> Vectors:
        vector = await self._tried(self._inner.embed_query(text))
        return self._measured([vector], 1).reshape(self.dimension)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _tried(self, call: Awaitable[Any]) -> Any:
        try:
            return await call
        except WaypostError:
            raise
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise ProviderError(f"embedder {self.name} failed with {problem}") from error

    def _measured(self, rows: Any, count: int) -> Vectors:
        import numpy as np

        try:
            matrix = np.asarray(rows, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ProviderError(f"embedder {self.name} returned no rows of numbers") from error
        if len(matrix) != count:
            raise ProviderError(
                f"embedder {self.name} returned {len(matrix)} rows for {count} texts"
            )
        matrix = matrix.reshape(count, -1) if count else matrix.reshape(0, self.dimension)
        if matrix.shape[1] != self.dimension:
            raise DimensionMismatch(
                f"embedder {self.name} returned {matrix.shape[1]} dimensions, but says that it "
                f"has {self.dimension}",
                expected=self.dimension,
                found=matrix.shape[1],
            )
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise ProviderError(f"embedder {self.name} returned a vector without a direction")
        unit: Vectors = matrix / lengths
        return unit
