"""The reference of the service, written from its OpenRPC document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
INTRODUCTION = """# JSON-RPC methods

`POST /api/v1/jsonrpc`, as [the service](../service.md) describes it; `rpc.discover` answers the
same as an OpenRPC document. Parameters go by name or, in the order shown, by position. Bold ones
must be given. Types with a capital are described [below](#types); results may gain members.
"""


def page(document: Schema) -> str:
    """The whole page."""
    lines = [INTRODUCTION]
    for method in document["methods"]:
        lines += method_section(method)
    lines += ["## Types", ""]
    shown = set(references(document))
    for name, schema in document["components"]["schemas"].items():
        if name in shown:
            lines += type_section(name, schema)
    lines += error_section(document["components"]["errors"])
    return "\n".join(lines).rstrip() + "\n"


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield name_of(value["$ref"])
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for member in value:
            yield from references(member)


def name_of(reference: str) -> str:
    return reference.rpartition("/")[2]


def method_section(method: Schema) -> Iterator[str]:
    yield from (f"## {method['name']}", "", method["summary"])
    if "description" in method:
        yield from ("", method["description"].replace("``", "`"))
    yield from ("", f"Scope: {method['x-scope']}. Result: {type_of(method['result']['schema'])}.")
    yield ""
    if method["params"]:
        yield from ("| parameter | type | default |", "|---|---|---|")
        for param in method["params"]:
            name = f"**`{param['name']}`**" if param["required"] else f"`{param['name']}`"
            yield f"| {name} | {type_of(param['schema'])} | {default_of(param['schema'])} |"
        yield ""


def type_section(name: str, schema: Schema) -> Iterator[str]:
    yield from (f"### {name}", "")
    if "description" in schema:
        yield from (" ".join(schema["description"].replace("``", "`").split()), "")
    if "enum" in schema:
        yield from (", ".join(f"`{value}`" for value in schema["enum"]), "")
    elif schema.get("properties"):
        required = schema.get("required", ())
        yield from ("| member | type | default |", "|---|---|---|")
        for member, inner in schema["properties"].items():
            shown = f"**`{member}`**" if member in required else f"`{member}`"
            yield f"| {shown} | {type_of(inner)} | {default_of(inner)} |"
        yield ""


def type_of(schema: Schema) -> str:
    if "$ref" in schema:
        name = name_of(schema["$ref"])
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(type_of(each) for each in schema["anyOf"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    return f"{kind}{bounds(schema)}"


def bounds(schema: Schema) -> str:
    words = {
        "minimum": "≥ {}",
        "exclusiveMinimum": "> {}",
        "maximum": "≤ {}",
        "exclusiveMaximum": "< {}",
        "minLength": "{}+ characters",
        "maxLength": "≤ {} characters",
        "format": "{}",
    }
    found = [text.format(schema[name]) for name, text in words.items() if name in schema]
    return f" ({', '.join(found)})" if found else ""


def default_of(schema: Schema) -> str:
    if schema.get("default") is None:
        return ""
    return f"`{json.dumps(schema['default'])}`"


def error_section(errors: Schema) -> Iterator[str]:
    yield from ("## Errors", "", "| code | name | try again? |", "|---|---|---|")
    for name, error in errors.items():
        again = "yes" if error.get("data", {}).get("retryable") else "no"
        yield f"| {error['code']} | {name} | {again} |"
