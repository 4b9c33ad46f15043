from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime

import pytest

from waypost.exceptions import InvalidInput, ProviderError, ProviderUnavailable
from waypost.resilience import CircuitBreaker, RetryPolicy
from waypost.resilience.address import parse_model_address
from waypost.resilience.http import ProviderHttp, retry_after_seconds
from waypost.testing import (
    ScriptedModelServer,
    cut_off,
    garbage,
    hang,
    rate_limited,
    refuse,
    status,
)

SECRET = "sk-very-secret-0123456789"
BODY = {"model": "m", "input": ["hello"]}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(failures=3, cool_down=30, clock=clock)


@pytest.fixture
async def http(
    server: ScriptedModelServer, clock: Clock, breaker: CircuitBreaker
) -> AsyncIterator[ProviderHttp]:
    made = ProviderHttp(
        server.base_url,
        api_key=SECRET,
        retry=RetryPolicy(attempts=3, sleep=clock.sleep, chance=lambda: 0.5),
        breaker=breaker,
    )
    yield made
    await made.aclose()


@pytest.mark.parametrize(
    "fault", [status(500), status(503), status(408), rate_limited(0), refuse(), cut_off()]
)
async def test_a_passing_failure_is_tried_again(
    server: ScriptedModelServer, http: ProviderHttp, fault: object
) -> None:
    server.fail(fault)  # type: ignore[arg-type]
    answer = await http.post("/embeddings", BODY)
    assert len(answer["data"]) == 1
    assert len(server.requests) == 2


async def test_waiting_grows_and_is_jittered(
    server: ScriptedModelServer, http: ProviderHttp, clock: Clock
) -> None:
    server.fail(status(500), status(500))
    await http.post("/embeddings", BODY)
    assert clock.slept == [0.25, 0.5]


async def test_the_wait_is_at_least_what_the_server_asks_for(
    server: ScriptedModelServer, http: ProviderHttp, clock: Clock
) -> None:
    server.fail(rate_limited(retry_after=7))
    await http.post("/embeddings", BODY)
    assert clock.slept == [7.25]


async def test_a_server_that_asks_for_too_much_patience_is_not_waited_for(
    server: ScriptedModelServer, http: ProviderHttp, clock: Clock
) -> None:
    server.fail(rate_limited(retry_after=3600))
    with pytest.raises(ProviderUnavailable) as caught:
        await http.post("/embeddings", BODY)
    assert caught.value.facts["retry_after"] == 3600
    assert clock.slept == []


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422])
async def test_a_refusal_is_not_repeated(
    server: ScriptedModelServer, http: ProviderHttp, code: int
) -> None:
    server.fail(status(code, "no"))
    with pytest.raises(ProviderError, match=f"HTTP {code}: no") as caught:
        await http.post("/embeddings", BODY)
    assert not caught.value.retryable
    assert len(server.requests) == 1


async def test_an_answer_that_is_not_json_is_an_error(
    server: ScriptedModelServer, http: ProviderHttp
) -> None:
    server.fail(garbage())
    with pytest.raises(ProviderError, match="not JSON"):
        await http.post("/embeddings", BODY)


async def test_after_the_last_attempt_the_failure_is_raised(
    server: ScriptedModelServer, http: ProviderHttp
) -> None:
    server.fail_always(status(500, "down"))
    with pytest.raises(ProviderUnavailable, match="HTTP 500: down"):
        await http.post("/embeddings", BODY)
    assert len(server.requests) == 3


async def test_a_server_that_hangs_runs_into_the_time_out(server: ScriptedModelServer) -> None:
    server.fail_always(hang())
    http = ProviderHttp(server.base_url, timeout=0.05, retry=RetryPolicy(attempts=1))
    with pytest.raises(ProviderUnavailable, match=r"did not answer within 0\.05 seconds"):
        await http.post("/embeddings", BODY)
    await http.aclose()


async def test_a_server_that_is_not_there_is_unavailable(clock: Clock) -> None:
    with ScriptedModelServer() as stopped:
        url = stopped.base_url
    http = ProviderHttp(url, retry=RetryPolicy(sleep=clock.sleep))
    with pytest.raises(ProviderUnavailable, match="cannot be reached"):
        await http.post("/embeddings", BODY)
    await http.aclose()


async def test_the_breaker_opens_and_no_request_is_sent(
    server: ScriptedModelServer, http: ProviderHttp, breaker: CircuitBreaker
) -> None:
    server.fail_always(status(500))
    with pytest.raises(ProviderUnavailable):
        await http.post("/embeddings", BODY)
    assert breaker.state == "open"
    with pytest.raises(ProviderUnavailable, match=r"left alone .*HTTP 500"):
        await http.post("/embeddings", BODY)
    assert len(server.requests) == 3


async def test_the_breaker_recovers_after_its_pause(
    server: ScriptedModelServer, http: ProviderHttp, breaker: CircuitBreaker, clock: Clock
) -> None:
    server.fail_always(status(500))
    with pytest.raises(ProviderUnavailable):
        await http.post("/embeddings", BODY)
    server.recover()
    clock.now += 30
    assert breaker.state == "half_open"
    await http.post("/embeddings", BODY)
    assert breaker.state == "closed"


def test_half_open_lets_one_caller_try_and_its_failure_opens_again(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    for _ in range(3):
        breaker.failed("HTTP 500")
    clock.now += 30
    breaker.enter("host")
    with pytest.raises(ProviderUnavailable):
        breaker.enter("host")
    breaker.failed("HTTP 500")
    assert breaker.state == "open"


def test_successes_in_between_keep_the_breaker_closed(breaker: CircuitBreaker) -> None:
    for _ in range(5):
        breaker.failed("HTTP 500")
        breaker.failed("HTTP 500")
        breaker.succeeded()
    assert breaker.state == "closed"


async def test_a_refusal_does_not_open_the_breaker(
    server: ScriptedModelServer, http: ProviderHttp, breaker: CircuitBreaker
) -> None:
    server.fail_always(status(400))
    for _ in range(4):
        with pytest.raises(ProviderError):
            await http.post("/embeddings", BODY)
    assert breaker.state == "closed"


async def test_cancelling_ends_the_request_and_frees_the_half_open_place(
    server: ScriptedModelServer, http: ProviderHttp, breaker: CircuitBreaker, clock: Clock
) -> None:
    for _ in range(3):
        breaker.failed("HTTP 500")
    clock.now += 30
    server.fail(hang())
    call = asyncio.create_task(http.post("/embeddings", BODY))
    await asyncio.to_thread(server.wait_for_request)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await http.post("/embeddings", BODY)
    assert breaker.state == "closed"


async def test_the_key_is_sent_and_never_shown(
    server: ScriptedModelServer, http: ProviderHttp
) -> None:
    padding = "x" * 290
    for said in (f"bad key {SECRET}", f"{padding}{SECRET}"):
        server.fail(status(401, said))
        with pytest.raises(ProviderError) as caught:
            await http.post("/embeddings", BODY)
        shown = f"{caught.value} {caught.value!r} {caught.value.facts} {http!r}"
        assert SECRET[:10] not in shown
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    with pytest.raises(InvalidInput) as caught:
        ProviderHttp("http://localhost/v1", api_key=f"{SECRET}\n")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["", "localhost:11434", "ftp://host", "http://", "http://h:99999/v1", "http://h/v1?key=k"],
)
def test_a_base_url_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="http://"):
        ProviderHttp(url)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        ("0.5", 0.5),
        ("-4", 0.0),
        ("nan", None),
        ("soon", None),
        ("Sun, 15 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 15 Nov 2026 11:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(header: str | None, seconds: float | None) -> None:
    now = datetime(2026, 11, 15, 12, tzinfo=UTC)
    assert retry_after_seconds(header, now) == seconds


def test_an_address_names_provider_model_and_server() -> None:
    plain = parse_model_address("openai:gpt-4o-mini")
    assert (plain.provider, plain.model, plain.base_url) == ("openai", "gpt-4o-mini", None)
    served = parse_model_address("openai+http://localhost:11434/v1?model=llama3:8b&dimension=3")
    assert served.base_url == "http://localhost:11434/v1"
    assert served.model == "llama3:8b"
    assert served.parameters == {"dimension": "3"}


@pytest.mark.parametrize(
    "address",
    [
        "",
        "openai",
        "openai:",
        "http://host/v1",
        "openai+http://host/v1",
        "openai+http://u:p@h?model=m",
    ],
)
def test_an_address_that_cannot_be_read_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput):
        parse_model_address(address)
