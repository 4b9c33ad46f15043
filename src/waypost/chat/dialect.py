"""How one server likes to be asked, found out by asking.

"OpenAI-compatible" servers differ in three ways that matter here: the name of the output
limit, whether a temperature may be given, and how a JSON answer is requested. The client
starts with its best guess; when a server refuses a request (HTTP 400 or 422), ``adapted``
gives the next thing to try, and what worked is kept for later calls.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from waypost.chat.port import Message

JsonFormat = Literal["json_schema", "json_object", "prompt"]
_WEAKER: Mapping[JsonFormat, JsonFormat] = {"json_schema": "json_object", "json_object": "prompt"}
_OTHER_LIMIT = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way of asking."""

    limit_field: str = "max_tokens"
    json_format: JsonFormat = "json_schema"
    with_temperature: bool = True

    def adapted(self, refusal: str, *, wants_json: bool) -> Dialect | None:
        """Return the next way to try after this refusal, or None when asking differs nothing."""
        said = refusal.lower()
        if "context length" in said or "context_length" in said:
            return None
        if self.limit_field in said:
            return replace(self, limit_field=_OTHER_LIMIT[self.limit_field])
        if self.with_temperature and "temperature" in said:
            return replace(self, with_temperature=False)
        if wants_json and self.json_format in _WEAKER:
            return replace(self, json_format=_WEAKER[self.json_format])
        return None

    def body(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        json_schema: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Return the request in this dialect, without the model and tools."""
        body: dict[str, Any] = {"messages": list(messages), self.limit_field: max_tokens}
        if self.with_temperature:
            body["temperature"] = temperature
        if json_schema is not None:
            self._request_json(body, json_schema)
        return body

    def _request_json(self, body: dict[str, Any], schema: Mapping[str, Any]) -> None:
        if self.json_format == "json_schema":
            body["response_format"] = _schema_format(schema)
            return
        instruction = (
            "Answer with one JSON object that follows this JSON schema, and nothing else:\n"
            + json.dumps(schema, ensure_ascii=False)
        )
        body["messages"] = [*body["messages"], {"role": "system", "content": instruction}]
        if self.json_format == "json_object":
            body["response_format"] = {"type": "json_object"}


def _schema_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    # Strict mode accepts only closed objects; an open schema is sent as a guide.
    strict = schema.get("additionalProperties") is False
    described = {"name": "answer", "schema": dict(schema), "strict": strict}
    return {"type": "json_schema", "json_schema": described}
