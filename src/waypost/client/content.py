"""The content of a run on a server: which method of ``ContentStore`` is which call."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Mapping
from typing import Any

from waypost.client.connection import Client
from waypost.client.operation import Operation, plain, remote
from waypost.content.outgoing import transform_of
from waypost.content.store import ContentStore
from waypost.model import ContentCriteria, Transform
from waypost.twins import methods_of
from waypost.validation import checked


def _stored(content: Any, **details: Any) -> dict[str, Any]:
    if isinstance(content, bytes):
        return {"content": base64.b64encode(content), "encoding": "base64", **details}
    return {"content": content, **details}


def _transformed(
    content_id: str, transform: Transform | str | None = None, **params: Any
) -> dict[str, Any]:
    return {"content_id": content_id, "transform": plain(transform_of(transform, params))}


def _criteria(criteria: ContentCriteria | None = None, **fields: Any) -> dict[str, Any]:
    return {"criteria": plain(criteria or checked(ContentCriteria, fields))}


_LIBRARY = methods_of(ContentStore)


class RemoteContent:
    """Full results of one run, kept on a server. The methods are those of ``ContentStore``."""

    def __init__(self, client: Client, run_id: str | None) -> None:
        self.run_id = run_id
        self._client = client
        self._common: Mapping[str, Any] = {} if run_id is None else {"run_id": run_id}

    store = remote(_LIBRARY.store, Operation("content.store", "item", _stored, repeatable=False))
    retrieve = remote(_LIBRARY.retrieve, Operation("content.retrieve", params=_transformed))
    get = remote(_LIBRARY.get, Operation("content.get", "item"))
    query = remote(_LIBRARY.query, Operation("content.query", "items", _criteria))
    cite = remote(_LIBRARY.cite, Operation("content.cite", "citation"))
    clear = remote(_LIBRARY.clear, Operation("content.clear", "cleared"))

    async def open(self, content_id: str) -> AsyncIterator[bytes]:
        """The bytes of an item, chunk by chunk."""
        number = 0
        while True:
            params = {"content_id": content_id, "number": number, **self._common}
            chunk = (await self._client.call("content.read", params))["chunk"]
            if chunk is None:
                return
            yield base64.b64decode(chunk)
            number += 1
