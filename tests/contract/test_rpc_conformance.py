"""JSON-RPC 2.0 to the letter, in process, over HTTP and over stdio."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, RootModel

from tests.rpc_transports import TRANSPORTS, Send, connect
from waypost.exceptions import NotFound, StorageUnavailable
from waypost.service.caller import Caller, Scope
from waypost.service.discover import add_discover
from waypost.service.limits import Limits
from waypost.service.rpc import Dispatcher, Method, Registry

Ask = Callable[[Any], Awaitable[Any]]


class Subtract(BaseModel):
    model_config = ConfigDict(extra="forbid")
    minuend: float
    subtrahend: float


class Numbers(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: float = 0
    b: float = 0
    c: float = 0


class Text(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str = ""


class Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")


Number = RootModel[float]
Pair = RootModel[list[Any]]


async def subtract(memory: Any, params: Subtract) -> RootModel[float]:
    """Subtract one number from another."""
    return Number(params.minuend - params.subtrahend)


async def add(memory: Any, params: Numbers) -> RootModel[float]:
    """Add up three numbers.

    What is left out counts as zero.
    """
    return Number(params.a + params.b + params.c)


async def get_data(memory: Any, params: Nothing) -> RootModel[list[Any]]:
    """Give some data."""
    return Pair(["hello", 5])


async def echo(memory: Any, params: Text) -> Text:
    """Give the text back."""
    memory.append(params.text)
    return params


async def fail(memory: Any, params: Text) -> Text:
    """Fail in the way that the text asks for."""
    if params.text == "ours":
        raise NotFound("no such memory", memory_id="m-1")
    if params.text == "later":
        raise StorageUnavailable("the database is busy")
    raise RuntimeError(f"a secret: {params.text}")


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def registry() -> Registry:
    registry = Registry()
    for name, params, result, handler in (
        ("subtract", Subtract, Number, subtract),
        ("sum", Numbers, Number, add),
        ("get_data", Nothing, Pair, get_data),
        ("echo", Text, Text, echo),
        ("fail", Text, Text, fail),
        ("update", Numbers, Number, add),
        ("notify_hello", Numbers, Number, add),
        ("notify_sum", Numbers, Number, add),
    ):
        registry.add(Method(name, params, result, Scope.READ, handler))
    registry.add(Method("write", Text, Text, Scope.WRITE, echo))
    add_discover(registry)
    return registry


@pytest.fixture(params=TRANSPORTS)
async def send(
    request: pytest.FixtureRequest, registry: Registry, notes: list[str]
) -> AsyncIterator[Send]:
    limits = Limits(max_batch=10)
    dispatcher = Dispatcher(registry, lambda caller: notes, limits=limits)
    caller = Caller("planner", frozenset({Scope.READ}))
    async with connect(request.param, dispatcher, caller, limits) as send:
        yield send


@pytest.fixture
def ask(send: Send) -> Ask:
    async def ask(request: Any) -> Any:
        body = request if isinstance(request, str) else json.dumps(request)
        answer = await send(body.encode())
        return None if answer is None else json.loads(answer)

    return ask


def without_data(answer: Any) -> Any:
    """The answer as the specification prints it: what a server may add in data left out."""
    for each in answer if isinstance(answer, list) else [answer]:
        if "error" in each:
            assert each["error"].pop("data")["retryable"] in (True, False)
    return answer


def failed(code: int, message: str, id_: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "error": {"code": code, "message": message}, "id": id_}


INVALID = failed(-32600, "Invalid Request")


class TestTheExamplesOfTheSpecification:
    async def test_positional_parameters(self, ask: Ask) -> None:
        for params, result in (([42, 23], 19), ([23, 42], -19)):
            answer = await ask({"jsonrpc": "2.0", "method": "subtract", "params": params, "id": 1})
            assert answer == {"jsonrpc": "2.0", "result": result, "id": 1}

    async def test_named_parameters_in_any_order(self, ask: Ask) -> None:
        for params in (
            {"subtrahend": 23, "minuend": 42},
            {"minuend": 42, "subtrahend": 23},
        ):
            answer = await ask({"jsonrpc": "2.0", "method": "subtract", "params": params, "id": 3})
            assert answer == {"jsonrpc": "2.0", "result": 19, "id": 3}

    async def test_a_notification_is_not_answered(self, ask: Ask) -> None:
        assert await ask({"jsonrpc": "2.0", "method": "update", "params": [1, 2, 3]}) is None
        assert await ask({"jsonrpc": "2.0", "method": "foobar"}) is None

    async def test_an_unknown_method(self, ask: Ask) -> None:
        answer = await ask({"jsonrpc": "2.0", "method": "foobar", "id": "1"})
        assert without_data(answer) == failed(-32601, "Method not found", "1")

    async def test_invalid_json(self, ask: Ask) -> None:
        answer = await ask('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]')
        assert without_data(answer) == failed(-32700, "Parse error")

    async def test_an_invalid_request_object(self, ask: Ask) -> None:
        answer = await ask({"jsonrpc": "2.0", "method": 1, "params": "bar"})
        assert without_data(answer) == INVALID

    async def test_an_invalid_batch(self, ask: Ask) -> None:
        answer = await ask(
            '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},'
            '{"jsonrpc": "2.0", "method"]'
        )
        assert without_data(answer) == failed(-32700, "Parse error")

    async def test_an_empty_batch_gets_one_error_object(self, ask: Ask) -> None:
        assert without_data(await ask([])) == INVALID

    @pytest.mark.parametrize("count", [1, 3])
    async def test_a_batch_of_what_are_no_requests(self, ask: Ask, count: int) -> None:
        assert without_data(await ask(list(range(1, count + 1)))) == [INVALID] * count

    async def test_a_mixed_batch(self, ask: Ask) -> None:
        answer = await ask(
            [
                {"jsonrpc": "2.0", "method": "sum", "params": [1, 2, 4], "id": "1"},
                {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
                {"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": "2"},
                {"foo": "boo"},
                {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "me"}, "id": "5"},
                {"jsonrpc": "2.0", "method": "get_data", "id": "9"},
            ]
        )
        assert without_data(answer) == [
            {"jsonrpc": "2.0", "result": 7, "id": "1"},
            {"jsonrpc": "2.0", "result": 19, "id": "2"},
            INVALID,
            failed(-32601, "Method not found", "5"),
            {"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"},
        ]

    async def test_a_batch_of_notifications_is_not_answered(self, ask: Ask) -> None:
        answer = await ask(
            [
                {"jsonrpc": "2.0", "method": "notify_sum", "params": [1, 2, 4]},
                {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
            ]
        )
        assert answer is None


class TestIds:
    @pytest.mark.parametrize(
        "id_",
        ['"x"', '""', '"größe \\u2028 😀"', "0", "-7", "9007199254740993", "1" * 400,
         "1.5", "1.0", "10.10", "-0.0", "1E5", "null"],
    )  # fmt: skip
    async def test_an_id_comes_back_as_it_was_sent(self, send: Send, id_: str) -> None:
        answer = await send(f'{{"jsonrpc":"2.0","method":"sum","id":{id_}}}'.encode())
        assert answer is not None
        assert json.loads(answer, parse_float=str)["id"] == json.loads(id_, parse_float=str)

    @pytest.mark.parametrize("id_", [[], [1], {}, {"a": 1}, True, False])
    async def test_an_id_of_another_type_is_an_invalid_request(self, ask: Ask, id_: Any) -> None:
        assert without_data(await ask({"jsonrpc": "2.0", "method": "sum", "id": id_})) == INVALID

    async def test_an_invalid_request_with_a_readable_id_is_answered_to_it(self, ask: Ask) -> None:
        answer = await ask({"jsonrpc": "2.0", "method": 5, "id": 9})
        assert without_data(answer) == failed(-32600, "Invalid Request", 9)


class TestStrictReading:
    @pytest.mark.parametrize(
        "body",
        [
            b"", b"   ", b"\xff\xfe{}", b'{"a":NaN}', b"Infinity", b"nul", b'{"a":1,}', b"{'a':1}",
            b'{"jsonrpc":"2.0","jsonrpc":"2.0","method":"sum","id":1}',
            b'{"jsonrpc":"2.0","method":"echo","params":["\\ud800"],"id":1}',
            b'{"jsonrpc":"2.0","method":"sum","params":[1e999],"id":1}',
            b'{"jsonrpc":"2.0","method":"sum","params":[' + b"9" * 5000 + b'],"id":1}',
            b"[" * 65, b"[" * 100_000, b'{"a":' * 100_000, b"[" * 65 + b"]" * 65,
            b'{"a":"' + b'\\"' * 100_000 + b"[" * 100,
        ],
    )  # fmt: skip
    async def test_what_is_not_strict_json_is_a_parse_error(self, send: Send, body: bytes) -> None:
        if not body.strip():
            body = b"?"  # a blank line on stdio is no request at all
        answer = await send(body)
        assert answer is not None
        assert without_data(json.loads(answer)) == failed(-32700, "Parse error")

    @pytest.mark.parametrize(
        "request_",
        [
            {"method": "sum", "id": None},
            {"jsonrpc": 2.0, "method": "sum"},
            {"jsonrpc": "1.0", "method": "sum"},
            {"jsonrpc": "2.0"},
            {"jsonrpc": "2.0", "method": None},
            {"jsonrpc": "2.0", "method": "sum", "params": None},
            {"jsonrpc": "2.0", "method": "sum", "params": 3},
            {"jsonrpc": "2.0", "method": "sum", "params": "x"},
            {"jsonrpc": "2.0", "method": "sum", "a2a_context": 3},
            5, '"x"', None, True,
        ],
    )  # fmt: skip
    async def test_what_is_no_request_object_is_answered_as_such(
        self, ask: Ask, request_: Any
    ) -> None:
        assert without_data(await ask(request_)) == INVALID

    async def test_nesting_in_strings_does_not_count(self, ask: Ask) -> None:
        text = "[{" * 1000 + '"\\'
        answer = await ask({"jsonrpc": "2.0", "method": "echo", "params": [text], "id": 1})
        assert answer["result"] == {"text": text}

    async def test_unicode_comes_through_unchanged(self, ask: Ask) -> None:
        text = "naïve 日本語 😀 \u2028 \u0000 \x7f"
        answer = await ask({"jsonrpc": "2.0", "method": "echo", "params": [text], "id": 1})
        assert answer["result"] == {"text": text}

    async def test_a_batch_beyond_the_cap_is_refused_as_a_whole(self, ask: Ask) -> None:
        call = {"jsonrpc": "2.0", "method": "sum", "id": 1}
        assert len(await ask([call] * 10)) == 10
        assert without_data(await ask([call] * 11)) == INVALID


class TestCalls:
    @pytest.mark.parametrize("params", [[1], [1, 2, 3], {"minuend": 1}, {"x": 1}, ["a", "b"], []])
    async def test_unfit_parameters_are_named(self, ask: Ask, params: Any) -> None:
        answer = await ask({"jsonrpc": "2.0", "method": "subtract", "params": params, "id": 1})
        assert answer["error"]["data"]["detail"]
        assert without_data(answer) == failed(-32602, "Invalid params", 1)

    async def test_a_failing_notification_is_not_answered(self, ask: Ask) -> None:
        for params in ([1, 2, 3, 4], {"text": "ours"}, {"text": "crash"}):
            assert await ask({"jsonrpc": "2.0", "method": "fail", "params": params}) is None

    async def test_our_errors_keep_their_code_and_say_whether_to_retry(self, ask: Ask) -> None:
        request = {"jsonrpc": "2.0", "method": "fail", "params": ["ours"], "id": 1}
        assert (await ask(request))["error"] == {
            "code": 1200,
            "message": "no such memory",
            "data": {"retryable": False, "kind": "NotFound", "memory_id": "m-1"},
        }
        later = await ask(request | {"params": ["later"]})
        assert later["error"]["data"]["retryable"] is True

    async def test_a_failing_store_does_not_say_where_it_is(self, ask: Ask) -> None:
        request = {"jsonrpc": "2.0", "method": "fail", "params": ["later"], "id": 1}
        assert (await ask(request))["error"]["message"] == "the server's store failed"

    async def test_a_crash_reveals_nothing_but_its_trace(self, ask: Ask) -> None:
        context = {"trace_id": "trace-1"}
        request = {"jsonrpc": "2.0", "method": "fail", "params": ["x"], "id": 1}
        answer = await ask(request | {"a2a_context": context})
        assert answer["error"] == {
            "code": -32603,
            "message": "Internal error",
            "data": {"retryable": False, "trace_id": "trace-1"},
        }

    async def test_calls_of_a_batch_run_in_order(self, ask: Ask, notes: list[str]) -> None:
        calls = [{"jsonrpc": "2.0", "method": "echo", "params": [str(n)]} for n in range(10)]
        assert await ask(calls) is None
        assert notes == [str(n) for n in range(10)]

    async def test_reserved_names_are_not_methods(self, ask: Ask) -> None:
        for name in ("rpc.", "rpc.x", "rpc.discover2"):
            answer = await ask({"jsonrpc": "2.0", "method": name, "id": 1})
            assert answer["error"]["code"] == -32601

    async def test_a_scope_that_is_missing_is_named(self, ask: Ask, notes: list[str]) -> None:
        answer = await ask({"jsonrpc": "2.0", "method": "write", "params": ["x"], "id": 1})
        assert (answer["error"]["code"], answer["error"]["data"]["scope"]) == (1400, "write")
        assert notes == []


class TestTheContextOfOtherAgents:
    async def test_it_is_echoed_as_it_came(self, ask: Ask) -> None:
        context = {"source_agent": "planner", "trace_id": "t", "extra": [1, {"ä": None}]}
        request = {"jsonrpc": "2.0", "method": "sum", "id": 1, "a2a_context": context}
        assert (await ask(request))["a2a_context"] == context
        failing = await ask(request | {"method": "none"})
        assert failing["a2a_context"] == context

    async def test_it_is_absent_when_it_was_not_sent(self, ask: Ask) -> None:
        answer = await ask({"jsonrpc": "2.0", "method": "sum", "id": 1})
        assert answer.keys() == {"jsonrpc", "result", "id"}

    @pytest.mark.parametrize("claimed", ["critic", "", 5, ["planner"]])
    async def test_a_claim_to_be_another_agent_is_refused(
        self, ask: Ask, notes: list[str], claimed: Any
    ) -> None:
        context = {"source_agent": claimed}
        request = {"jsonrpc": "2.0", "method": "echo", "params": ["x"], "id": 1}
        answer = await ask(request | {"a2a_context": context})
        assert answer["error"]["code"] == 1400
        assert notes == []


class TestDiscover:
    async def test_it_describes_every_method(self, ask: Ask, registry: Registry) -> None:
        answer = await ask({"jsonrpc": "2.0", "method": "rpc.discover", "id": 1})
        document = answer["result"]
        assert document["openrpc"].startswith("1.4")
        assert [method["name"] for method in document["methods"]] == [m.name for m in registry]
        subtract = document["methods"][0]
        assert [(p["name"], p["required"]) for p in subtract["params"]] == [
            ("minuend", True),
            ("subtrahend", True),
        ]
        assert subtract["summary"] == "Subtract one number from another."

    async def test_every_reference_leads_somewhere(self, ask: Ask) -> None:
        document = (await ask({"jsonrpc": "2.0", "method": "rpc.discover", "id": 1}))["result"]
        for reference in references(document):
            target: Any = document
            for part in reference.removeprefix("#/").split("/"):
                target = target[part]


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [found for member in value.values() for found in references(member)]
    if isinstance(value, list):
        return [found for member in value for found in references(member)]
    return []
