"""What every database can keep and give back unchanged; anything else is refused at the door."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import PydanticSerializationError

from waypost.model.base import Value

MAX_CONTENT_CHARACTERS = 1_000_000
"""Longer text belongs in the content channel; a memory then cites it."""


def refuse_unstorable(value: Value) -> None:
    """No text holds a NUL, which PostgreSQL cannot store, or half a character."""
    try:
        text = value.model_dump_json(exclude={"embedding"})
    except PydanticSerializationError as error:
        raise ValueError(_unserializable(str(error))) from None
    if "\\u0000" in text and _has_nul(value.model_dump(mode="json", exclude={"embedding"})):
        raise ValueError("a text has a NUL character; store binary data in the content channel")


def _unserializable(problem: str) -> str:
    if "surrogate" in problem:
        return "a text has a lone surrogate, half of a character; decode it with errors='replace'"
    return f"metadata and arguments are JSON values: {problem}"


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, dict):
        return any(_has_nul(part) for item in value.items() for part in item)
    return isinstance(value, list) and any(map(_has_nul, value))


def refuse_other_than_json(value: dict[str, Any], place: str) -> None:
    """Sets, times, objects, NaN and endless nesting have no form that both databases read alike."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{place} holds what JSON cannot: {str(error).rstrip('.')}") from None


def check_content(text: str) -> None:
    if not text.strip():
        raise ValueError("content is empty; a memory needs some text")
    if "\x00" in text:
        raise ValueError("content has a NUL character; store binary data in the content channel")
    if len(text) > MAX_CONTENT_CHARACTERS:
        raise ValueError(
            f"content has {len(text):,} characters, more than the {MAX_CONTENT_CHARACTERS:,} a "
            "memory may hold; store it in the content channel and cite it"
        )
