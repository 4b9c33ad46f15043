"""The JSON-RPC 2.0 envelope, read strictly and written exactly.

``read`` turns the bytes of a request into calls; ``success`` and ``failure`` turn
answers into bytes. Nothing here knows methods, callers or transports.

Strict means: UTF-8 only, no NaN or Infinity, no duplicate names in an object,
no half surrogates, bounded depth. An id comes back with the very digits it was
sent with, so integers beyond 64 bits and fractions survive.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from waypost.service.faults import Fault, invalid_request, parse_error

MAX_DEPTH = 64
NULL = b"null"

# Also matches a string that is never closed, so that no start is tried twice: linear time.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


@dataclass(frozen=True, slots=True)
class Call:
    """One well-formed request. ``id`` is its JSON text; None makes it a notification."""

    method: str
    params: dict[str, Any] | list[Any] | None
    id: bytes | None
    context: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Malformed:
    """One member of a batch (or the whole request) that is not a request."""

    fault: Fault
    id: bytes = NULL


@dataclass(frozen=True, slots=True)
class Request:
    items: tuple[Call | Malformed, ...]
    batch: bool


class _ExactFloat(float):
    """A number with a fraction or exponent that remembers how it was written."""

    __slots__ = ("text",)
    text: str


def _exact_float(text: str) -> _ExactFloat:
    value = _ExactFloat(text)
    if math.isinf(value):
        raise ValueError("a number is too large")
    value.text = text
    return value


def read(body: bytes, *, max_batch: int) -> Request:
    """Read one request or batch. What cannot be read at all becomes one malformed item."""
    try:
        document = _parse(body)
    except ValueError as error:
        return Request((Malformed(parse_error(str(error))),), batch=False)
    if not isinstance(document, list):
        return Request((_read_call(document),), batch=False)
    if not document:
        return _refused("a batch needs at least one request")
    if len(document) > max_batch:
        return _refused(f"{len(document)} requests in one batch; at most {max_batch} are taken")
    return Request(tuple(_read_call(item) for item in document), batch=True)


def _refused(detail: str) -> Request:
    return Request((Malformed(invalid_request(detail)),), batch=False)


def _parse(body: bytes) -> Any:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise ValueError("the request is not UTF-8") from None
    _check_depth(text)
    try:
        document = json.loads(
            text,
            object_pairs_hook=_unique_names,
            parse_float=_exact_float,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise ValueError("the request is nested too deeply") from None
    if "\\u" in text:
        _refuse_half_surrogates(document)
    return document


def _check_depth(text: str) -> None:
    """Bound the nesting before parsing, so no input can exhaust the stack."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise ValueError(f"the request is nested deeper than {MAX_DEPTH} levels")


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has the same name twice")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _refuse_half_surrogates(document: Any) -> None:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a string has half a surrogate pair, which is not Unicode text") from None


def _read_call(item: Any) -> Call | Malformed:
    if not isinstance(item, dict):
        return Malformed(invalid_request("a request is an object"))
    id_ = _read_id(item)
    if isinstance(id_, Malformed):
        return id_
    detail = _defect(item)
    if detail is not None:
        return Malformed(invalid_request(detail), NULL if id_ is None else id_)
    return Call(item["method"], item.get("params"), id_, item.get("a2a_context"))


def _read_id(item: dict[str, Any]) -> bytes | Malformed | None:
    if "id" not in item:
        return None
    value = item["id"]
    if value is None:
        return NULL
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).encode()
    if isinstance(value, _ExactFloat):
        return value.text.encode()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value).encode()
    return Malformed(invalid_request("id must be a string, a number or null"))


def _defect(item: dict[str, Any]) -> str | None:
    if item.get("jsonrpc") != "2.0":
        return 'the member jsonrpc must be "2.0"'
    if not isinstance(item.get("method"), str):
        return "the member method must be a string"
    if "params" in item and not isinstance(item["params"], dict | list):
        return "the member params must be an object or an array"
    if not isinstance(item.get("a2a_context"), dict | None):
        return "the member a2a_context must be an object"
    return None


def success(id_: bytes, result: bytes, context: dict[str, Any] | None = None) -> bytes:
    """The answer to a call that worked; ``result`` is JSON already."""
    return b'{"jsonrpc":"2.0","result":%b%b,"id":%b}' % (result, _echo(context), id_)


def failure(id_: bytes, fault: Fault, context: dict[str, Any] | None = None) -> bytes:
    """The answer to a call that did not."""
    error = _dump(fault.as_object())
    return b'{"jsonrpc":"2.0","error":%b%b,"id":%b}' % (error, _echo(context), id_)


def _echo(context: dict[str, Any] | None) -> bytes:
    return b"" if context is None else b',"a2a_context":' + _dump(context)


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
