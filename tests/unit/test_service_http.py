"""The HTTP side: refusals, limits, cancellation, and what operators see. On a real server."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel, ConfigDict

from tests.rpc_transports import SECRET, serving
from waypost.service.auth import Authenticator, make_token
from waypost.service.figures import Figure
from waypost.service.http import PATH, Endpoint, make_app
from waypost.service.keys import SharedSecret
from waypost.service.limits import Limits
from waypost.service.logs import LoggingObserver, make_log
from waypost.service.metrics import CountingObserver, Metrics
from waypost.service.observe import Observers
from waypost.service.rpc import Dispatcher, Method, Registry, Scope

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Params(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str = ""


class Reply(BaseModel):
    agent: str
    degraded: bool = False


@dataclass
class Scene:
    """What a test can look at and steer while the server runs."""

    client: httpx2.AsyncClient
    address: str
    endpoint: Endpoint
    log: io.StringIO
    parts: dict[str, str]
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, method: str = "greet", **options: Any) -> httpx2.Response:
        request = {"jsonrpc": "2.0", "method": method, "params": options.pop("params", {}), "id": 1}
        return await self.client.post(PATH, json=request, **options)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


@asynccontextmanager
async def scene(**limits: Any) -> AsyncIterator[Scene]:
    log, metrics, registry = io.StringIO(), Metrics(), Registry()
    observer = Observers(LoggingObserver(make_log(log)), CountingObserver(metrics))
    chosen = Limits(**limits)
    dispatcher = Dispatcher(registry, lambda caller: caller.agent, limits=chosen, observer=observer)
    endpoint = Endpoint(dispatcher, Authenticator(SharedSecret(SECRET)), chosen, metrics)
    parts = {"store": "ok", "embedder": "ok"}

    async def readiness() -> dict[str, str]:
        return parts

    async def figures() -> list[Figure]:
        return [Figure("waypost_memories", "Memories.", ("type",), [(("episodic",), 3.0)])]

    app = make_app(endpoint, readiness=readiness, figures=figures)
    headers = {"authorization": f"Bearer {make_token(SECRET, 'planner')}"}
    async with (
        serving(app) as address,
        httpx2.AsyncClient(base_url=address, headers=headers) as client,
    ):
        made = Scene(client, address, endpoint, log, parts)
        _register(registry, made)
        yield made
        made.release.set()


def _register(registry: Registry, made: Scene) -> None:
    async def greet(memory: str, params: Params) -> Reply:
        """Say who is calling."""
        if params.text == "crash":
            raise RuntimeError("the text was crash")
        return Reply(agent=memory, degraded=params.text == "degraded")

    async def wait(memory: str, params: Params) -> Reply:
        """Wait until the test lets go."""
        made.entered.set()
        try:
            await made.release.wait()
        except asyncio.CancelledError:
            made.cancelled.set()
            raise
        return Reply(agent=memory)

    registry.add(Method("greet", Params, Reply, Scope.READ, greet))
    registry.add(Method("wait", Params, Reply, Scope.READ, wait))


class TestRefusals:
    @pytest.mark.parametrize(
        "header", [{}, {"authorization": "Bearer x"}, {"authorization": "Basic eA=="}]
    )
    async def test_without_a_good_token_nothing_is_read(self, header: dict[str, str]) -> None:
        async with scene() as made, httpx2.AsyncClient(base_url=made.address) as stranger:
            for content in (b"{", b"[]", b'{"jsonrpc":"2.0","method":"greet","id":1}'):
                response = await stranger.post(PATH, content=content, headers=header)
                assert response.status_code == 401
                assert response.headers["www-authenticate"].startswith("Bearer")
                assert response.json()["error"]["code"] == 1401
                assert response.json()["id"] is None

    async def test_two_tokens_are_as_bad_as_none(self) -> None:
        async with scene() as made, httpx2.AsyncClient(base_url=made.address) as stranger:
            good = ("authorization", f"Bearer {make_token(SECRET, 'planner')}")
            response = await stranger.post(PATH, content=b"{}", headers=[good, good])
            assert response.status_code == 401

    async def test_a_body_beyond_the_cap_is_refused_announced_or_not(self) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(40):
                yield b" " * 1024

        async with scene(body_bytes=2048) as made:
            for content in (b" " * 2049, chunks()):
                response = await made.client.post(PATH, content=content)
                assert response.status_code == 413
                assert response.json()["error"]["code"] == 1104
            assert (await made.call()).status_code == 200

    @pytest.mark.parametrize(
        "headers", [{"content-type": "text/plain"}, {"content-encoding": "gzip"}]
    )
    async def test_another_type_or_encoding_is_refused(self, headers: dict[str, str]) -> None:
        async with scene() as made:
            assert (await made.client.post(PATH, content=b"{}", headers=headers)).status_code == 415

    async def test_an_empty_body_is_a_parse_error(self) -> None:
        async with scene() as made:
            response = await made.client.post(PATH, content=b"")
            assert (response.status_code, response.json()["error"]["code"]) == (200, -32700)

    async def test_other_verbs_and_paths_are_refused(self) -> None:
        async with scene() as made:
            assert (await made.client.get(PATH)).status_code == 405
            assert (await made.client.get("/")).status_code == 404
            assert (await made.client.get("/openapi.json")).status_code == 404

    async def test_a_body_that_does_not_arrive_is_not_waited_for(self) -> None:
        async with scene(body_seconds=0.05) as made:
            token = make_token(SECRET, "planner")
            reader, writer = await asyncio.open_connection(*made.address[7:].split(":"))
            head = f"POST {PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n"
            writer.write(f"{head}content-length: 100\r\n\r\n{{".encode())
            assert b"408" in await reader.readline()
            writer.close()
            await writer.wait_closed()


class TestLoad:
    async def test_a_full_server_answers_at_once(self) -> None:
        async with scene(concurrency=1) as made:
            first = asyncio.create_task(made.call("wait"))
            await made.entered.wait()
            refused = await made.call()
            assert refused.status_code == 429
            assert refused.headers["retry-after"] == "1"
            assert refused.json()["error"]["code"] == 1800
            assert refused.json()["error"]["data"]["retryable"] is True
            made.release.set()
            assert (await first).json()["result"]["agent"] == "planner"
            assert (await made.call()).status_code == 200

    async def test_an_agent_beyond_its_rate_is_told_when_to_return(self) -> None:
        async with scene(rate_per_second=0.001, burst=2) as made:
            assert [(await made.call()).status_code for _ in range(3)] == [200, 200, 429]
            other = {"authorization": f"Bearer {make_token(SECRET, 'critic')}"}
            assert (await made.call(headers=other)).status_code == 200

    async def test_a_call_over_its_time_is_ended_with_a_retryable_error(self) -> None:
        async with scene(call_seconds=0.05) as made:
            error = (await made.call("wait")).json()["error"]
            assert (error["code"], error["data"]["retryable"]) == (1802, True)
            await made.cancelled.wait()

    async def test_a_client_that_goes_away_cancels_its_call(self) -> None:
        async with scene() as made:
            with pytest.raises(httpx2.ReadTimeout):
                await made.call("wait", timeout=httpx2.Timeout(5, read=0.3))
            await made.cancelled.wait()
            text = (await made.client.get("/metrics")).text
            assert "waypost_http_cancelled_total 1.0" in text

    async def test_a_stopping_server_takes_nothing_new(self) -> None:
        async with scene() as made:
            made.endpoint.draining = True
            response = await made.call()
            assert response.status_code == 503
            assert response.json()["error"]["data"]["retryable"] is True
            assert (await made.client.get("/readyz")).status_code == 503


class TestWhatOperatorsSee:
    async def test_health_needs_no_token(self) -> None:
        async with scene() as made, httpx2.AsyncClient(base_url=made.address) as stranger:
            assert (await stranger.get("/healthz")).json() == {"status": "ok"}

    async def test_readiness_names_the_part_that_is_degraded(self) -> None:
        async with scene() as made:
            assert (await made.client.get("/readyz")).json()["status"] == "ok"
            made.parts["embedder"] = "unavailable"
            response = await made.client.get("/readyz")
            assert response.status_code == 200
            assert response.json() == {
                "status": "degraded",
                "parts": {"store": "ok", "embedder": "unavailable"},
            }
            made.parts["store"] = "unavailable"
            assert (await made.client.get("/readyz")).status_code == 503

    async def test_metrics_count_calls_by_method_and_outcome(self) -> None:
        async with scene() as made:
            await made.call()
            await made.call(params={"text": "degraded"})
            await made.call(params={"nonsense": 1})
            await made.call("no such method " + "x" * 1000)
            text = (await made.client.get("/metrics")).text
            for line in (
                'waypost_rpc_calls_total{code="0",method="greet"} 2.0',
                'waypost_rpc_calls_total{code="-32602",method="greet"} 1.0',
                'waypost_rpc_calls_total{code="-32601",method="unknown"} 1.0',
                'waypost_degraded_total{method="greet"} 1.0',
                'waypost_rpc_seconds_count{method="greet"} 3.0',
                'waypost_memories{type="episodic"} 3.0',
            ):
                assert line in text

    async def test_a_ping_says_whose_token_it_is(self) -> None:
        async with scene() as made, httpx2.AsyncClient(base_url=made.address) as stranger:
            assert (await made.client.get("/api/v1/ping")).json() == {"agent": "planner"}
            assert (await stranger.get("/api/v1/ping")).status_code == 401

    async def test_a_trace_runs_through_answer_and_log(self) -> None:
        async with scene() as made:
            response = await made.call(headers={"traceparent": TRACEPARENT})
            assert response.headers["x-trace-id"] == "0af7651916cd43dd8448eb211c80319c"
            assert made.lines()[-1]["trace_id"] == "0af7651916cd43dd8448eb211c80319c"

    @pytest.mark.parametrize(
        "bad", ["x", "00-" + "0" * 32 + "-b7ad6b7169203331-01", "ff" + TRACEPARENT[2:]]
    )
    async def test_a_malformed_trace_is_replaced(self, bad: str) -> None:
        async with scene() as made:
            response = await made.call(headers={"traceparent": bad})
            assert len(response.headers["x-trace-id"]) == 32

    async def test_logs_hold_neither_contents_nor_secrets(self) -> None:
        async with scene() as made:
            token = made.client.headers["authorization"].removeprefix("Bearer ")
            await made.call(params={"text": "my secret"})
            await made.call(params={"text": "crash"})
            await made.call(params={"text": ["my secret"]})
            text = made.log.getvalue()
            assert [line["event"] for line in made.lines()] == ["call", "crash", "call", "call"]
            assert made.lines()[1]["exception"] == "builtins.RuntimeError"
            assert any("test_service_http" in place for place in made.lines()[1]["places"])
            for secret in ("my secret", "the text was", token, token.split(".")[2]):
                assert secret not in text
