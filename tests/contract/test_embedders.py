"""What every embedder promises, held against each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest

from waypost.embed import Embedder, local
from waypost.embed.cached import CachedEmbedder
from waypost.embed.cohere import CohereEmbedder
from waypost.embed.openai_compatible import OpenAICompatibleEmbedder
from waypost.testing import HashEmbedder, ScriptedModelServer

ODD_TEXTS = [
    "",
    "   ",
    "\n\t",
    "😀👍🏽",
    "日本語のテキスト",
    "a" * 50_000,
    "\x00\x07",
    "<s></s><unk>",
]


class EmbedderContract:
    """Inherit and give an ``embedder`` fixture."""

    async def test_each_text_gives_one_row_of_the_promised_dimension(
        self, embedder: Embedder
    ) -> None:
        rows = await embedder.embed_documents(["one", "two", "three"])
        assert rows.shape == (3, embedder.dimension)
        assert rows.dtype == np.float32

    async def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        assert (await embedder.embed_documents([])).shape == (0, embedder.dimension)

    async def test_a_query_is_one_vector(self, embedder: Embedder) -> None:
        assert (await embedder.embed_query("where?")).shape == (embedder.dimension,)

    async def test_rows_have_length_one_for_any_text(self, embedder: Embedder) -> None:
        rows = await embedder.embed_documents(ODD_TEXTS)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)

    async def test_the_same_text_gives_the_same_bits_alone_and_in_a_batch(
        self, embedder: Embedder
    ) -> None:
        texts = ["the build is green", *ODD_TEXTS, "the build is green"]
        together = await embedder.embed_documents(texts)
        alone = await embedder.embed_documents(["the build is green"])
        assert together[0].tobytes() == together[-1].tobytes() == alone[0].tobytes()

    async def test_shared_words_bring_texts_closer(self, embedder: Embedder) -> None:
        stored = await embedder.embed_documents(["the database is slow", "bake bread at noon"])
        query = await embedder.embed_query("slow database")
        near, far = stored @ query
        assert near > far

    async def test_the_name_is_stable_and_not_empty(self, embedder: Embedder) -> None:
        assert embedder.name
        assert embedder.name == embedder.name.strip()

    async def test_callers_may_change_what_they_got(self, embedder: Embedder) -> None:
        first = await embedder.embed_documents(["keep me"])
        before = first.copy()
        first[:] = 0
        assert ((await embedder.embed_documents(["keep me"])) == before).all()


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(dimension=48) as running:
        yield running


class TestLocal(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return local()


class TestHash(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashEmbedder()


class TestCached(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return CachedEmbedder(HashEmbedder(32), capacity=3)


class TestOpenAICompatible(EmbedderContract):
    @pytest.fixture
    async def embedder(self, server: ScriptedModelServer) -> AsyncIterator[Embedder]:
        made = OpenAICompatibleEmbedder("tiny", base_url=server.base_url, dimension=48)
        yield made
        await made.aclose()


class TestOpenAICompatibleInBase64(EmbedderContract):
    @pytest.fixture
    async def embedder(self, server: ScriptedModelServer) -> AsyncIterator[Embedder]:
        made = OpenAICompatibleEmbedder(
            "tiny",
            base_url=server.base_url,
            dimension=48,
            encoding_format="base64",
            batch_texts=2,
        )
        yield made
        await made.aclose()


class TestCohere(EmbedderContract):
    @pytest.fixture
    async def embedder(self, server: ScriptedModelServer) -> AsyncIterator[Embedder]:
        root = server.base_url.removesuffix("/v1")
        made = CohereEmbedder("embed-v4.0", api_key="k", base_url=root, dimension=256)
        yield made
        await made.aclose()
