"""Embeddings from Cohere's v2 API, ``POST {base_url}/v2/embed``.

Cohere's models tell documents and questions apart (``input_type``), so a stored text and
a query of the same words have different vectors, on purpose. At most 96 texts per call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from waypost.embed.rows import Row, batches, unit_rows
from waypost.exceptions import InvalidInput, ProviderError
from waypost.resilience.http import ProviderHttp

if TYPE_CHECKING:
    from waypost.embed.port import Vectors
    from waypost.resilience import CircuitBreaker, RetryPolicy

COHERE_URL = "https://api.cohere.com"
KNOWN_DIMENSIONS: Mapping[str, int] = {
    "embed-v4.0": 1536,
    "embed-english-v3.0": 1024,
    "embed-multilingual-v3.0": 1024,
    "embed-english-light-v3.0": 384,
    "embed-multilingual-light-v3.0": 384,
}
_TEXTS_PER_CALL = 96
_CHARACTERS_PER_CALL = 200_000


class CohereEmbedder:
    """Embeds through Cohere; embed-v4.0 can give 256, 512, 1024 or 1536 dimensions."""

    costly = True

    def __init__(
        self,
        model: str = "embed-v4.0",
        *,
        api_key: str,
        base_url: str = COHERE_URL,
        dimension: int | None = None,
        timeout: float = 30.0,
        retry: RetryPolicy | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        native = KNOWN_DIMENSIONS.get(model)
        if dimension is None and native is None:
            raise InvalidInput(f"the dimension of {model!r} is not known; pass dimension=")
        self.model = model
        self.dimension = dimension or native or 0
        self.name = f"cohere:{model}:{self.dimension}"
        self._shorten = native is not None and native != self.dimension
        self._http = ProviderHttp(
            base_url, api_key=api_key, timeout=timeout, retry=retry, breaker=breaker
        )

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await self._embed(texts, "search_document")

    async def embed_query(self, text: str) -> Vectors:
        rows = await self._embed([text], "search_query")
        return rows.reshape(self.dimension)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _embed(
        self, texts: Sequence[str], input_type: Literal["search_document", "search_query"]
    ) -> Vectors:
        rows: list[Row] = []
        for batch in batches(texts, count=_TEXTS_PER_CALL, characters=_CHARACTERS_PER_CALL):
            rows += await self._embed_batch(batch, input_type)
        return unit_rows(rows, dimension=self.dimension, name=self.name)

    async def _embed_batch(self, texts: Sequence[str], input_type: str) -> list[Row]:
        body: dict[str, Any] = {
            "model": self.model,
            "input_type": input_type,
            "texts": [text or " " for text in texts],
            "embedding_types": ["float"],
        }
        if self._shorten:
            body["output_dimension"] = self.dimension
        answer = await self._http.post("/v2/embed", body)
        return _rows(answer, len(texts), self._http.provider)


def _rows(answer: Mapping[str, Any], count: int, provider: str) -> list[Row]:
    embeddings = answer.get("embeddings")
    rows = embeddings.get("float") if isinstance(embeddings, dict) else None
    if not isinstance(rows, list) or len(rows) != count:
        found = len(rows) if isinstance(rows, list) else "no"
        raise ProviderError(f"{provider} answered {found} embeddings for {count} texts")
    return rows
