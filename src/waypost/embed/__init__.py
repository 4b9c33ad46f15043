"""Embedders: the port and its implementations, loaded when first asked for.

``local()`` is the built-in one. ``embedder_from_url`` picks one by a short address:

    local                                     the built-in static vectors
    openai:text-embedding-3-small             OpenAI
    openai+http://localhost:11434/v1?model=…  any OpenAI-compatible server (&dimension=…)
    cohere:embed-v4.0                         Cohere

Keys are arguments, never part of an address and never read from the environment here.
"""

from __future__ import annotations

from typing import Any

from waypost.embed.port import Embedder, EmbeddingCache
from waypost.exceptions import InvalidInput
from waypost.resilience.address import ModelAddress, parse_model_address

__all__ = ["Embedder", "EmbeddingCache", "embedder_from_url", "local"]


def local() -> Embedder:
    """Return the built-in embedder: no key, no server, no download."""
    from waypost.embed.static import StaticEmbedder

    return StaticEmbedder()


def embedder_from_url(url: str, **options: Any) -> Embedder:
    """Return the embedder that the address names; options go to its constructor (``api_key`` …)."""
    if url == "local":
        if options:
            raise InvalidInput(f"the local embedder takes no options, got {sorted(options)}")
        return local()
    address = parse_model_address(url)
    options = {**_options_of(address), **options}
    if address.provider == "openai":
        return _openai(address.model, options)
    if address.provider == "cohere":
        return _cohere(address.model, options)
    raise InvalidInput(
        f"there is no embedder {address.provider!r}; use 'local', 'openai:MODEL', "
        "'openai+http://HOST/v1?model=MODEL' or 'cohere:MODEL'"
    )


def _options_of(address: ModelAddress) -> dict[str, Any]:
    unknown = sorted(set(address.parameters) - {"dimension"})
    if unknown:
        raise InvalidInput(f"an embedder's address knows model and dimension, not {unknown}")
    options: dict[str, Any] = {"base_url": address.base_url} if address.base_url else {}
    if "dimension" in address.parameters:
        options["dimension"] = _whole(address.parameters["dimension"])
    return options


def _openai(model: str, options: dict[str, Any]) -> Embedder:
    from waypost.embed.openai_compatible import OPENAI_URL, OpenAICompatibleEmbedder

    if options.get("base_url", OPENAI_URL) == OPENAI_URL and not options.get("api_key"):
        raise InvalidInput("OpenAI's embeddings need an API key; pass api_key=")
    return OpenAICompatibleEmbedder(model, **options)


def _cohere(model: str, options: dict[str, Any]) -> Embedder:
    from waypost.embed.cohere import CohereEmbedder

    if not options.get("api_key"):
        raise InvalidInput("Cohere's embeddings need an API key; pass api_key=")
    return CohereEmbedder(model, **options)


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise InvalidInput(f"dimension={text} is not a positive whole number")
    return int(text)
