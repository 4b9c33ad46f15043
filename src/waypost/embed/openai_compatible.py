"""Embeddings from any server that speaks ``POST {base_url}/embeddings``.

That is OpenAI, and also Ollama, vLLM, llama.cpp, LM Studio and most gateways; the key is
optional because local servers have none. Answers are trusted for nothing: rows are put in
the order of their ``index``, counted, measured against the configured dimension and
normalised. Servers refuse the empty text, so it is sent as a single space.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from waypost.embed.rows import Row, batches, unit_rows
from waypost.exceptions import InvalidInput, ProviderError
from waypost.resilience.http import ProviderHttp

if TYPE_CHECKING:
    from waypost.embed.port import Vectors
    from waypost.resilience import CircuitBreaker, RetryPolicy

OPENAI_URL = "https://api.openai.com/v1"
KNOWN_DIMENSIONS: Mapping[str, int] = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "nomic-embed-text": 768,
    "mxbai-embed-large": 1024,
    "all-minilm": 384,
    "bge-m3": 1024,
}


class OpenAICompatibleEmbedder:
    """Embeds through an OpenAI-style server.

    ``dimension`` is what the vectors must have (known for common models). With ``shorten``
    the server is asked to produce that many, which OpenAI's third generation can do.
    """

    costly = True

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI_URL,
        api_key: str | None = None,
        dimension: int | None = None,
        shorten: bool | None = None,
        encoding_format: Literal["float", "base64"] = "float",
        batch_texts: int = 256,
        batch_characters: int = 200_000,
        timeout: float = 30.0,
        retry: RetryPolicy | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        self.model = model
        self.dimension = dimension or _known_dimension(model)
        native = KNOWN_DIMENSIONS.get(model)
        self._shorten = shorten if shorten is not None else native not in {None, self.dimension}
        self.name = f"openai:{model}:{self.dimension}"
        self._encoding_format = encoding_format
        self._batch_texts = batch_texts
        self._batch_characters = batch_characters
        self._http = ProviderHttp(
            base_url, api_key=api_key, timeout=timeout, retry=retry, breaker=breaker
        )

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        rows: list[Row] = []
        limits = {"count": self._batch_texts, "characters": self._batch_characters}
        for batch in batches(texts, **limits):
            rows += await self._embed_batch(batch)
        return unit_rows(rows, dimension=self.dimension, name=self.name)

    async def embed_query(self, text: str) -> Vectors:
        rows = await self.embed_documents([text])
        return rows.reshape(self.dimension)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _embed_batch(self, texts: Sequence[str]) -> list[Row]:
        body: dict[str, Any] = {
            "model": self.model,
            "input": [text or " " for text in texts],
            "encoding_format": self._encoding_format,
        }
        if self._shorten:
            body["dimensions"] = self.dimension
        answer = await self._http.post("/embeddings", body)
        return _ordered(answer, len(texts), self._http.provider)


def _known_dimension(model: str) -> int:
    # Ollama writes a tag after the name: "nomic-embed-text:latest".
    dimension = KNOWN_DIMENSIONS.get(model) or KNOWN_DIMENSIONS.get(model.partition(":")[0])
    if dimension is None:
        raise InvalidInput(
            f"the dimension of {model!r} is not known; pass dimension=, as its model card says"
        )
    return dimension


def _ordered(answer: Mapping[str, Any], count: int, provider: str) -> list[Row]:
    try:
        by_index = {int(item["index"]): _unpacked(item["embedding"]) for item in answer["data"]}
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise ProviderError(f"{provider} answered without usable embeddings") from error
    if len(answer["data"]) != count or set(by_index) != set(range(count)):
        raise ProviderError(
            f"{provider} answered {len(answer['data'])} embeddings for {count} texts, "
            "or numbered them wrongly"
        )
    return [by_index[index] for index in range(count)]


def _unpacked(embedding: Any) -> Row:
    if isinstance(embedding, str):
        return base64.b64decode(embedding, validate=True)
    row: Sequence[float] = embedding
    return row
