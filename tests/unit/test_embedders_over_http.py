from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import numpy as np
import pytest

from waypost.embed import embedder_from_url
from waypost.embed.cached import CachedEmbedder
from waypost.embed.cohere import CohereEmbedder
from waypost.embed.openai_compatible import OpenAICompatibleEmbedder
from waypost.embed.port import Vectors
from waypost.embed.static import StaticEmbedder
from waypost.exceptions import (
    DimensionMismatch,
    InvalidInput,
    ProviderError,
    ProviderUnavailable,
)
from waypost.resilience import RetryPolicy
from waypost.testing import (
    HashEmbedder,
    ScriptedModelServer,
    garbage,
    missing_row,
    reorder,
    status,
    wrong_dimension,
)


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(dimension=48) as running:
        yield running


@pytest.fixture
async def embedder(server: ScriptedModelServer) -> AsyncIterator[OpenAICompatibleEmbedder]:
    made = OpenAICompatibleEmbedder(
        "tiny", base_url=server.base_url, dimension=48, retry=RetryPolicy(attempts=1)
    )
    yield made
    await made.aclose()


async def test_rows_follow_their_index_and_not_their_order(
    server: ScriptedModelServer, embedder: OpenAICompatibleEmbedder
) -> None:
    texts = ["alpha", "beta", "gamma"]
    straight = await embedder.embed_documents(texts)
    server.fail(reorder())
    assert (await embedder.embed_documents(texts) == straight).all()


async def test_another_dimension_is_an_error_that_names_both(
    server: ScriptedModelServer, embedder: OpenAICompatibleEmbedder
) -> None:
    server.fail(wrong_dimension(96))
    with pytest.raises(DimensionMismatch, match=r"96 .*48") as caught:
        await embedder.embed_documents(["text"])
    assert caught.value.facts == {"expected": 48, "actual": 96}


@pytest.mark.parametrize("fault", [missing_row(), garbage(), status(400)])
async def test_an_unusable_answer_is_an_error_and_never_fewer_rows(
    server: ScriptedModelServer, embedder: OpenAICompatibleEmbedder, fault: object
) -> None:
    server.fail(fault)  # type: ignore[arg-type]
    with pytest.raises(ProviderError):
        await embedder.embed_documents(["one", "two"])


async def test_a_server_that_is_down_is_unavailable(
    server: ScriptedModelServer, embedder: OpenAICompatibleEmbedder
) -> None:
    server.fail(status(503))
    with pytest.raises(ProviderUnavailable):
        await embedder.embed_query("text")


async def test_batches_are_cut_by_count_and_by_size(server: ScriptedModelServer) -> None:
    embedder = OpenAICompatibleEmbedder(
        "tiny", base_url=server.base_url, dimension=48, batch_texts=3, batch_characters=10
    )
    await embedder.embed_documents(["a", "b", "c", "d", "long text over ten", "e" * 6, "f" * 6])
    await embedder.aclose()
    sizes = [len(request.body["input"]) for request in server.requests]
    assert sizes == [3, 1, 1, 1, 1]


async def test_a_shorter_dimension_is_asked_for_where_the_model_can_do_it(
    server: ScriptedModelServer,
) -> None:
    embedder = OpenAICompatibleEmbedder(
        "text-embedding-3-small", base_url=server.base_url, dimension=256
    )
    assert (await embedder.embed_query("q")).shape == (256,)
    await embedder.aclose()
    assert server.requests[0].body["dimensions"] == 256
    assert embedder.name == "openai:text-embedding-3-small:256"


async def test_without_a_key_no_authorization_is_sent(
    server: ScriptedModelServer, embedder: OpenAICompatibleEmbedder
) -> None:
    await embedder.embed_query("q")
    assert "authorization" not in server.requests[0].headers


async def test_cohere_tells_documents_from_queries(server: ScriptedModelServer) -> None:
    root = server.base_url.removesuffix("/v1")
    embedder = CohereEmbedder("embed-v4.0", api_key="k", base_url=root, dimension=512)
    await embedder.embed_documents(["text"] * 97)
    await embedder.embed_query("q")
    await embedder.aclose()
    bodies = [request.body for request in server.requests]
    assert [len(body["texts"]) for body in bodies] == [96, 1, 1]
    assert [body["input_type"] for body in bodies] == ["search_document"] * 2 + ["search_query"]
    assert {body["output_dimension"] for body in bodies} == {512}


async def test_cohere_answers_are_counted_and_measured(server: ScriptedModelServer) -> None:
    root = server.base_url.removesuffix("/v1")
    embedder = CohereEmbedder(api_key="k", base_url=root)
    server.fail(missing_row(), wrong_dimension(7))
    with pytest.raises(ProviderError, match="1 embeddings for 2 texts"):
        await embedder.embed_documents(["one", "two"])
    with pytest.raises(DimensionMismatch, match=r"7 .*1536"):
        await embedder.embed_documents(["one"])
    await embedder.aclose()


class DictionaryCache:
    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Vectors] = {}

    async def get_many(self, name: str, digests: Sequence[str]) -> Mapping[str, Vectors]:
        return {key: self.kept[name, key] for key in digests if (name, key) in self.kept}

    async def set_many(self, name: str, vectors: Mapping[str, Vectors]) -> None:
        self.kept.update({(name, digest): vector for digest, vector in vectors.items()})


async def test_a_cached_text_is_asked_for_once(
    server: ScriptedModelServer, embedder: OpenAICompatibleEmbedder
) -> None:
    cached = CachedEmbedder(embedder)
    first = await cached.embed_documents(["a", "b", "a"])
    again = await cached.embed_documents(["b", "c"])
    assert [request.body["input"] for request in server.requests] == [["a", "b"], ["c"]]
    assert (first[1] == again[0]).all()
    assert (cached.hits, cached.misses) == (1, 3)


async def test_a_persistent_cache_serves_the_next_process() -> None:
    kept = DictionaryCache()
    before = await CachedEmbedder(HashEmbedder(), cache=kept).embed_documents(["a"])
    later = CachedEmbedder(HashEmbedder(), cache=kept)
    assert (await later.embed_documents(["a"]) == before).all()
    assert (later.hits, later.misses) == (1, 0)


async def test_a_failure_is_not_cached(
    server: ScriptedModelServer, embedder: OpenAICompatibleEmbedder
) -> None:
    cached = CachedEmbedder(embedder)
    server.fail(status(500))
    with pytest.raises(ProviderUnavailable):
        await cached.embed_query("q")
    assert np.linalg.norm(await cached.embed_query("q")) == pytest.approx(1.0, abs=1e-5)


async def test_the_oldest_vectors_leave_a_full_cache(
    server: ScriptedModelServer, embedder: OpenAICompatibleEmbedder
) -> None:
    cached = CachedEmbedder(embedder, capacity=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await cached.embed_documents([text])
    assert [request.body["input"] for request in server.requests] == [["a"], ["b"], ["c"], ["b"]]


def test_an_address_picks_the_embedder() -> None:
    assert isinstance(embedder_from_url("local"), StaticEmbedder)
    openai = embedder_from_url("openai:text-embedding-3-large", api_key="k")
    assert openai.dimension == 3072
    ollama = embedder_from_url("openai+http://localhost:11434/v1?model=nomic-embed-text:latest")
    assert ollama.dimension == 768
    served = embedder_from_url("openai+https://host/v1?model=own&dimension=20")
    assert served.name == "openai:own:20"
    assert embedder_from_url("cohere:embed-v4.0", api_key="k").dimension == 1536


@pytest.mark.parametrize(
    ("address", "wrong"),
    [
        ("openai:text-embedding-3-small", "API key"),
        ("cohere:embed-v4.0", "API key"),
        ("word2vec:x", "word2vec"),
        ("openai+http://host/v1?model=unheard-of", "dimension"),
        ("openai+http://host/v1?model=m&dimension=many", "whole number"),
        ("openai+http://host/v1?model=m&api_key=k", "api_key"),
    ],
)
def test_an_address_that_cannot_work_says_what_is_missing(address: str, wrong: str) -> None:
    with pytest.raises(InvalidInput, match=wrong):
        embedder_from_url(address)
