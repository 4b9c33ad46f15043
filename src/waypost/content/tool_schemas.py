"""What the memory tools take, as models and as schemas for OpenAI, Anthropic and JSON Schema.

The docstring of a model is the description that the language model reads.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from waypost.model import ContentType


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class StoreInMemory(Arguments):
    """Keep a text outside the conversation; you get a short id to open it with later."""

    content: str = Field(min_length=1, description="The text to keep.")
    type: ContentType = Field(default=ContentType.CUSTOM, description="What kind of content it is.")
    title: str | None = Field(default=None, description="A few words that say what it is.")
    tags: list[str] = Field(default_factory=list, description="Words to find it by.")


class RetrieveFromMemory(Arguments):
    """Open stored content by its id, whole or in part. Prefer a part: full results are long."""

    id: str = Field(description="The id from a citation, such as c-k7m2x.")
    transform: Literal["full", "excerpt", "summary", "first_n", "last_n", "filtered"] = Field(
        default="full",
        description="How to read it; filtered needs one of path, regex, columns, question.",
    )
    question: str | None = Field(default=None, description="filtered: passages that answer this.")
    regex: str | None = Field(default=None, description="filtered: lines that match this.")
    path: str | None = Field(default=None, description="filtered: JSON path such as items[0].name.")
    columns: list[str] | None = Field(default=None, description="filtered: these table columns.")
    around: str | None = Field(default=None, description="excerpt: around this text.")
    start: int | None = Field(default=None, description="excerpt: from this character on.")
    length: int | None = Field(default=None, description="excerpt: so many characters.")
    n: int | None = Field(default=None, description="first_n, last_n: how many.")
    unit: Literal["lines", "characters", "tokens"] | None = Field(
        default=None, description="first_n, last_n: what n counts; lines by default."
    )
    max_tokens: int | None = Field(default=None, description="At most so many tokens.")


class QueryMemory(Arguments):
    """List stored content, newest first, by type, source, tags or words in it."""

    type: ContentType | None = Field(default=None, description="Only this type.")
    source: str | None = Field(default=None, description="Only from this tool.")
    tags: list[str] = Field(default_factory=list, description="Only with all these tags.")
    text: str | None = Field(default=None, description="Only where all these words occur.")
    limit: int = Field(default=10, ge=1, le=50, description="At most so many.")


class Remember(Arguments):
    """Remember something for later runs: a fact, a decision, a preference, a lesson."""

    content: str = Field(min_length=1, description="One clear statement.")
    kind: str | None = Field(default=None, description="fact, decision, preference, failure, …")
    tags: list[str] = Field(default_factory=list, description="Words to find it by.")


class RecallArguments(Arguments):
    """Recall what was learned in this and earlier runs, by a question."""

    query: str = Field(min_length=1, description="What you want to know, in your own words.")
    k: int = Field(default=5, ge=1, le=20, description="How many memories.")


CONTENT_TOOLS: dict[str, type[Arguments]] = {
    "store_in_memory": StoreInMemory,
    "retrieve_from_memory": RetrieveFromMemory,
    "query_memory": QueryMemory,
}
MEMORY_TOOLS: dict[str, type[Arguments]] = {"remember": Remember, "recall": RecallArguments}
ALL_TOOLS = CONTENT_TOOLS | MEMORY_TOOLS


def json_schema(name: str) -> dict[str, Any]:
    """The arguments of a tool as plain JSON Schema, without references."""
    model = ALL_TOOLS[name]
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    properties = {key: _plain(value, definitions) for key, value in schema["properties"].items()}
    return {
        "type": "object",
        "properties": properties,
        "required": schema.get("required", []),
        "additionalProperties": False,
    }


def _plain(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Without titles, references and "or null": what small models read best."""
    kept = {key: value for key, value in schema.items() if key not in ("title", "anyOf", "$ref")}
    if kept.get("default", "") is None:
        del kept["default"]
    for variant in schema.get("anyOf", ()):
        if variant.get("type") != "null":
            kept = _plain(variant, definitions) | kept
    if "$ref" in schema:
        kept = _plain(definitions[schema["$ref"].rpartition("/")[2]], definitions) | kept
    return kept


def describe(name: str) -> str:
    return " ".join((ALL_TOOLS[name].__doc__ or "").split())


def openai_tools(*, with_memory: bool = True) -> list[dict[str, Any]]:
    """The tools as OpenAI's chat completions take them."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": describe(name),
                "parameters": json_schema(name),
            },
        }
        for name in _offered(with_memory)
    ]


def anthropic_tools(*, with_memory: bool = True) -> list[dict[str, Any]]:
    """The tools as Anthropic's messages take them."""
    return [
        {"name": name, "description": describe(name), "input_schema": json_schema(name)}
        for name in _offered(with_memory)
    ]


def _offered(with_memory: bool) -> list[str]:
    return list(ALL_TOOLS if with_memory else CONTENT_TOOLS)
