"""The service described by itself: an OpenRPC 1.4 document made from the registry.

Schemas come from the very models that validate requests and results, so the
document cannot say something else than the service does.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import models_json_schema

from waypost import __version__
from waypost.service import faults
from waypost.service.caller import Scope
from waypost.service.rpc import Method, Registry

OPENRPC_VERSION = "1.4.1"
_REFERENCE = "#/components/schemas/{model}"
_STANDARD = {
    "ParseError": (faults.PARSE_ERROR, "Parse error"),
    "InvalidRequest": (faults.INVALID_REQUEST, "Invalid Request"),
    "MethodNotFound": (faults.METHOD_NOT_FOUND, "Method not found"),
    "InvalidParams": (faults.INVALID_PARAMS, "Invalid params"),
    "InternalError": (faults.INTERNAL_ERROR, "Internal error"),
}


class DiscoverParams(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Document(BaseModel):
    """An OpenRPC document."""

    model_config = ConfigDict(extra="allow")


def add_discover(registry: Registry) -> None:
    """Register ``rpc.discover``, which describes everything in the registry, itself included."""

    async def discover(memory: Any, params: DiscoverParams) -> Document:
        """Describe this service as an OpenRPC document: every method, its schemas and errors."""
        return Document(**describe(registry))

    registry.add(Method("rpc.discover", DiscoverParams, Document, Scope.READ, discover))


def describe(registry: Registry) -> dict[str, Any]:
    """The OpenRPC document of a registry."""
    schemas = _Schemas(registry)
    return {
        "openrpc": OPENRPC_VERSION,
        "info": {
            "title": "Waypost",
            "version": __version__,
            "description": "A memory for AI agents that work on long tasks.",
            "license": {"name": "Apache-2.0"},
        },
        "methods": [_method(method, schemas) for method in registry],
        "components": {"schemas": schemas.all, "errors": _errors()},
    }


class _Schemas:
    """The schemas of all models of a registry, each once, and where to find them."""

    def __init__(self, registry: Registry) -> None:
        wanted = {(method.params.__name__, method.params, "validation") for method in registry}
        wanted |= {(method.result.__name__, method.result, "serialization") for method in registry}
        ordered: list[Any] = [(model, mode) for _, model, mode in sorted(wanted, key=_by_name)]
        self._references, top = models_json_schema(ordered, ref_template=_REFERENCE)
        self.all: dict[str, Any] = dict(sorted(top.get("$defs", {}).items()))

    def result(self, method: Method) -> dict[str, Any]:
        return dict(self._references[method.result, "serialization"])

    def params(self, method: Method) -> dict[str, Any]:
        name = self._references[method.params, "validation"]["$ref"].rpartition("/")[2]
        found: dict[str, Any] = self.all[name]
        return found


def _by_name(entry: tuple[str, Any, str]) -> tuple[str, str]:
    return entry[0], entry[2]


def _method(method: Method, schemas: _Schemas) -> dict[str, Any]:
    summary, _, rest = method.description.partition("\n")
    described = {
        "name": method.name,
        "summary": summary.strip(),
        "paramStructure": "either",
        "params": _params(schemas.params(method)),
        "result": {"name": "result", "schema": schemas.result(method)},
        "errors": [{"$ref": f"#/components/errors/{name}"} for name in _errors()],
        "x-scope": method.scope.value,
    }
    return described | ({"description": _unwrapped(rest)} if rest.strip() else {})


def _params(schema: dict[str, Any]) -> list[dict[str, Any]]:
    required = set(schema.get("required", ()))
    return [
        {"name": name, "required": name in required, "schema": member}
        for name, member in schema.get("properties", {}).items()
    ]


def _unwrapped(text: str) -> str:
    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _errors() -> dict[str, Any]:
    standard = {
        name: {"code": code, "message": message} for name, (code, message) in _STANDARD.items()
    }
    ours = {
        kind.__name__: {
            "code": code,
            "message": _headline(kind.__name__),
            "data": {"retryable": kind.retryable},
        }
        for code, kind in sorted(faults.error_classes().items())
    }
    return standard | ours


def _headline(name: str) -> str:
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return words.strip().capitalize()
