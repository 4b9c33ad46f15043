"""Short addresses of models: ``openai:gpt-4o-mini``, ``openai+http://host/v1?model=…``.

An address names who serves the model and which one. It never carries a key: addresses are
shown in settings, logs and ``doctor``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit, urlunsplit

from waypost.exceptions import InvalidInput


@dataclass(frozen=True, slots=True)
class ModelAddress:
    """``parameters`` are the other parts of the query, after ``model``."""

    provider: str
    model: str
    base_url: str | None
    parameters: Mapping[str, str]


def parse_model_address(address: str) -> ModelAddress:
    """Read ``PROVIDER:MODEL`` or ``PROVIDER+http(s)://HOST/PATH?model=MODEL``."""
    provider, _, rest = address.partition(":")
    name, plus, scheme = provider.partition("+")
    if plus and scheme in {"http", "https"}:
        return _of_server(name, f"{scheme}:{rest}")
    if not provider.isalnum() or not rest or rest.startswith("//"):
        raise InvalidInput(
            "a model's address is PROVIDER:MODEL, for example openai:gpt-4o-mini, or "
            "PROVIDER+http://HOST/v1?model=MODEL"
        )
    return ModelAddress(provider, rest, None, {})


def _of_server(provider: str, url: str) -> ModelAddress:
    parts = urlsplit(url)
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    model = query.pop("model", "")
    if not model:
        raise InvalidInput(f"the address of the server {parts.hostname} lacks ?model=MODEL")
    if parts.password:
        raise InvalidInput("an address carries no password; pass the key as api_key=")
    base_url = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
    return ModelAddress(provider, model, base_url, query)
