"""Starting the service from the command line: safe with nothing configured, and refusing else."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.command_line import CommandLine, command_line
from waypost.client import agent_of
from waypost.service.auth import Authenticator
from waypost.service.caller import Scope
from waypost.service.keys import SharedSecret

SECRET = "a secret for tests, of 32 bytes or more"


@pytest.fixture
def waypost(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> CommandLine:
    for name in ("WAYPOST_TOKEN_SECRET", "WAYPOST_JWKS", "WAYPOST_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return command_line(capsys, monkeypatch, str(tmp_path / "memory.db"))


@asynccontextmanager
async def started(tmp_path: Path, *options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """``waypost serve`` in a process of its own, with nothing configured."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from waypost.cli import main; main()", "serve",
        "--url", str(tmp_path / "memory.db"), *options,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, env=kept | {"XDG_DATA_HOME": str(tmp_path / "data")},
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def said(process: asyncio.subprocess.Process, beginning: str) -> str:
    """The rest of the first line that begins like this."""
    assert process.stdout is not None
    async with asyncio.timeout(60):
        while line := (await process.stdout.readline()).decode():
            if line.startswith(beginning):
                return line.removeprefix(beginning).strip()
    raise AssertionError(f"the server never said {beginning!r}")


async def test_with_nothing_configured_it_serves_this_machine_and_prints_a_token(
    tmp_path: Path,
) -> None:
    async with started(tmp_path, "--port", "0") as process:
        address = await said(process, "listening on ")
        token = (await said(process, "token for agent ")).rpartition(": ")[2]
        assert address.startswith("http://127.0.0.1:")
        async with httpx2.AsyncClient() as http:
            request = {"jsonrpc": "2.0", "method": "memory.count", "id": 1}
            refused = await http.post(address, json=request)
            assert refused.status_code == 401
            headers = {"authorization": f"Bearer {token}"}
            answer = (await http.post(address, json=request, headers=headers)).json()
            assert answer["result"] == {"count": 0}
        secret = tmp_path / "data" / "waypost" / "token-secret"
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        process.send_signal(signal.SIGTERM)
        assert await process.wait() in (0, -signal.SIGTERM)


async def test_standard_input_and_output_need_no_token(tmp_path: Path) -> None:
    async with started(tmp_path, "--stdio", "--agent", "planner") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc":"2.0","method":"memory.count","id":7}\n')
        async with asyncio.timeout(60):
            answer = json.loads(await process.stdout.readline())
        assert answer == {"jsonrpc": "2.0", "result": {"count": 0}, "id": 7}
        process.stdin.close()
        assert await process.wait() == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_it_never_listens_to_other_machines_without_keys(waypost: CommandLine, host: str) -> None:
    outcome = waypost("serve", "--host", host, "--port", "0")
    assert outcome.code != 0
    assert "WAYPOST_JWKS" in outcome.err
    assert "WAYPOST_TOKEN_SECRET" in outcome.err


def test_a_short_secret_is_refused(waypost: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_TOKEN_SECRET", "short")
    outcome = waypost("serve", "--host", "0.0.0.0", "--port", "0")
    assert outcome.code != 0
    assert "at least 32" in outcome.err


async def test_a_token_is_made_for_one_agent_and_what_it_may_do(
    waypost: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYPOST_TOKEN_SECRET", SECRET)
    token = waypost("token", "--agent", "planner", "--scope", "read").out.strip()
    assert agent_of(token) == "planner"
    caller = await Authenticator(SharedSecret(SECRET.encode())).authenticate(f"Bearer {token}")
    assert (caller.agent, caller.scopes) == ("planner", {Scope.READ})
    assert "scopes are" in waypost("token", "--scope", "everything").err


class TestSpans:
    @pytest.fixture
    def spans(self) -> Any:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        yield provider.get_tracer("test"), exporter
        provider.shutdown()

    async def test_continue_the_callers_trace_and_hold_no_contents(
        self, spans: Any, tmp_path: Path
    ) -> None:
        import waypost
        from waypost.service.caller import Caller, read_trace
        from waypost.service.methods import build_registry
        from waypost.service.rpc import Dispatcher
        from waypost.service.tracing import TracingObserver

        tracer, exporter = spans
        async with waypost.open(tmp_path / "memory.db") as engine:
            dispatcher = Dispatcher(
                build_registry(),
                lambda caller: engine.agent(caller.agent),
                observer=TracingObserver(tracer),
            )
            trace = read_trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
            params = {"memory": {"content": "xyzzy is here"}}
            body = json.dumps(
                {"jsonrpc": "2.0", "method": "memory.store", "params": params, "id": 1}
            )
            await dispatcher.handle(body.encode(), Caller("planner"), trace)
        (span,) = exporter.get_finished_spans()
        assert span.name == "memory.store"
        assert f"{span.context.trace_id:032x}" == trace.id
        assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"
        assert "xyzzy" not in span.to_json()
        assert "planner" not in span.to_json()
