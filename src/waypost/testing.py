"""Deterministic stand-ins for paid models, for our tests and for yours.

``ScriptedModelServer`` is a real HTTP server on loopback that speaks the parts of the
OpenAI and Cohere protocols Waypost uses; it answers from a script, records every request, and
misbehaves on demand. ``HashEmbedder`` gives vectors that depend on the words alone.

    with ScriptedModelServer() as server:
        server.reply('{"summary": "two bugs fixed"}')
        server.fail(rate_limited(retry_after=0), hang())
        ...
        assert server.models_named() == ["gpt-4o-mini"]

Nothing here uses a clock or chance: a hanging answer hangs until the server is closed
or ``release()`` is called.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from waypost.embed.port import Vectors

_WORD = re.compile(r"\w+")


def hash_vector(text: str, dimension: int) -> list[float]:
    """Return a unit vector made from the words of the text; shared words bring texts closer."""
    totals = [0.0] * dimension
    for word in _WORD.findall(text.lower()) or [text]:
        seed = hashlib.blake2b(word.encode("utf-8", "surrogatepass")).digest()
        for place in range(0, 16, 2):
            sign = 1.0 if seed[place + 32] & 1 else -1.0
            totals[int.from_bytes(seed[place : place + 2]) % dimension] += sign
    length = sum(value * value for value in totals) ** 0.5
    if not length:
        return [1.0] + [0.0] * (dimension - 1)
    return [value / length for value in totals]


class HashEmbedder:
    """An embedder of hashed words: no data, no network, the same on every machine."""

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension
        self.name = f"hash-{dimension}"

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        rows = [hash_vector(text, self.dimension) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.dimension)

    async def embed_query(self, text: str) -> Vectors:
        rows = await self.embed_documents([text])
        return rows.reshape(self.dimension)

    async def aclose(self) -> None:
        """Nothing is held open."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One way for the server to misbehave; made by the functions below."""

    kind: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    dimension: int = 0


def hang() -> Fault:
    """Accept the request and never answer, until ``release()`` or the server closes."""
    return Fault("hang")


def garbage() -> Fault:
    """Answer 200 with a body that is not JSON."""
    return Fault("garbage")


def cut_off() -> Fault:
    """Promise a whole body and close the connection in the middle of it."""
    return Fault("cut_off")


def refuse() -> Fault:
    """Close the connection without a word."""
    return Fault("refuse")


def status(code: int, message: str = "scripted failure") -> Fault:
    """Answer with this HTTP status and an OpenAI-style error body."""
    return Fault("status", status=code, message=message)


def rate_limited(retry_after: float | str = 0) -> Fault:
    """Answer 429 and say when to come back."""
    headers = {"Retry-After": str(retry_after)}
    return Fault("status", status=429, headers=headers, message="rate limited")


def wrong_dimension(dimension: int) -> Fault:
    """Answer embeddings of another length."""
    return Fault("wrong_dimension", dimension=dimension)


def reorder() -> Fault:
    """Answer embeddings last first, with the right indexes."""
    return Fault("reorder")


def missing_row() -> Fault:
    """Answer one embedding fewer than was asked for."""
    return Fault("missing_row")


def truncated() -> Fault:
    """Answer the first half of the text, with finish_reason "length"."""
    return Fault("truncated")


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as the server received it; header names are lower case."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))


Reply = str | Mapping[str, Any]
"""The text of a chat reply, or its whole ``message`` (to script tool calls)."""


class ScriptedModelServer:
    """A model server under the test's control, at ``base_url`` while the context is open.

    Chat replies come from ``reply(...)`` in order, then from the ``chat`` function, then a
    constant. Faults from ``fail(...)`` are used one per request, ``fail_always`` until
    ``recover()``. With ``unsupported`` the server refuses these request fields (and
    response_format types) with a 400, as small servers do. With ``api_key`` it demands that key,
    and without ``usage`` its answers do not say how many tokens they took.
    """

    def __init__(
        self,
        *,
        dimension: int = 64,
        chat: Callable[[Mapping[str, Any]], Reply] | None = None,
        api_key: str | None = None,
        unsupported: Sequence[str] = (),
        usage: bool = True,
    ) -> None:
        self.dimension = dimension
        self.api_key = api_key
        self.unsupported = frozenset(unsupported)
        self.usage = usage
        self.requests: list[RecordedRequest] = []
        self._chat = chat
        self._replies: deque[Reply] = deque()
        self._faults: deque[Fault] = deque()
        self._standing_fault: Fault | None = None
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._arrivals = threading.Semaphore(0)
        self._http: ThreadingHTTPServer | None = None

    def reply(self, *replies: Reply) -> None:
        """Queue chat replies, used in order."""
        self._replies.extend(replies)

    def fail(self, *faults: Fault) -> None:
        """Queue faults, each used up by one request."""
        self._faults.extend(faults)

    def fail_always(self, fault: Fault) -> None:
        """Misbehave on every request from now on."""
        self._standing_fault = fault

    def recover(self) -> None:
        """Forget all faults, queued and standing."""
        self._standing_fault = None
        self._faults.clear()

    def release(self) -> None:
        """Let hanging requests go; their connections are closed unanswered."""
        self._released.set()

    def wait_for_request(self) -> None:
        """Block until one more request has arrived (call it in a thread from async tests)."""
        self._arrivals.acquire()

    def models_named(self) -> list[str]:
        """The models that the requests so far asked for, in order."""
        return [request.model for request in self.requests]

    @property
    def port(self) -> int:
        if self._http is None:
            raise RuntimeError("the server runs only inside its `with` block")
        return int(self._http.server_address[1])

    @property
    def base_url(self) -> str:
        """The OpenAI-style base URL, ending in ``/v1``."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        handler = type("ScriptedHandler", (_Handler,), {"scripted": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._released.set()
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()

    def _record(self, request: RecordedRequest) -> Fault | None:
        with self._lock:
            self.requests.append(request)
            fault = self._faults.popleft() if self._faults else self._standing_fault
        self._arrivals.release()
        return fault

    def _next_reply(self, body: Mapping[str, Any]) -> Reply:
        with self._lock:
            if self._replies:
                return self._replies.popleft()
        return self._chat(body) if self._chat else "scripted reply"

    def _refusal(self, request: RecordedRequest) -> Fault | None:
        if self.api_key and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return status(401, f"wrong key: {request.headers.get('authorization', 'none')}")
        response_format = request.body.get("response_format") or {}
        named = {*request.body, str(response_format.get("type", ""))}
        refused = sorted(named & self.unsupported)
        return status(400, f"Unsupported parameter: {refused[0]}") if refused else None

    def _answer(self, request: RecordedRequest, fault: Fault | None) -> dict[str, Any] | None:
        if request.path.endswith("/chat/completions"):
            answer = _chat_answer(request.body, self._next_reply(request.body), fault)
            return answer if self.usage else answer | {"usage": None}
        if request.path.endswith("/v2/embed"):
            texts = request.body["texts"]
            rows = _rows(texts, request.body.get("output_dimension") or self.dimension, fault)
            return {"id": "scripted", "embeddings": {"float": rows}, "texts": texts}
        if request.path.endswith("/embeddings"):
            return _embeddings_answer(request.body, self.dimension, fault)
        return None


def _chat_answer(body: Mapping[str, Any], reply: Reply, fault: Fault | None) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply} if isinstance(reply, str) else dict(reply)
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    if fault and fault.kind == "truncated":
        text = str(message.get("content") or "")
        message["content"], finish = text[: len(text) // 2], "length"
    sent = " ".join(str(part.get("content") or "") for part in body.get("messages", []))
    usage = {
        "prompt_tokens": len(sent.split()),
        "completion_tokens": len(str(message.get("content") or "").split()),
    }
    choice = {"index": 0, "message": message, "finish_reason": finish}
    model = body.get("model", "")
    return {"object": "chat.completion", "model": model, "choices": [choice], "usage": usage}


def _rows(texts: Sequence[str], dimension: int, fault: Fault | None) -> list[list[float]]:
    if fault and fault.kind == "wrong_dimension":
        dimension = fault.dimension
    rows = [hash_vector(text, dimension) for text in texts]
    return rows[:-1] if fault and fault.kind == "missing_row" else rows


def _embeddings_answer(
    body: Mapping[str, Any], dimension: int, fault: Fault | None
) -> dict[str, Any]:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    rows = _rows(texts, body.get("dimensions") or dimension, fault)
    data: list[dict[str, Any]] = [
        {"object": "embedding", "index": index, "embedding": _packed(row, body)}
        for index, row in enumerate(rows)
    ]
    if fault and fault.kind == "reorder":
        data.reverse()
    usage = {"prompt_tokens": sum(len(text.split()) for text in texts)}
    return {"object": "list", "model": body.get("model", ""), "data": data, "usage": usage}


def _packed(row: Sequence[float], body: Mapping[str, Any]) -> Sequence[float] | str:
    if body.get("encoding_format") != "base64":
        return row
    import numpy as np

    return base64.b64encode(np.array(row, dtype="<f4").tobytes()).decode()


class _Handler(BaseHTTPRequestHandler):
    scripted: ScriptedModelServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {key.lower(): value for key, value in self.headers.items()}
        request = RecordedRequest(self.path, headers, json.loads(raw))
        fault = self.scripted._record(request) or self.scripted._refusal(request)
        if fault and fault.kind in {"hang", "refuse"}:
            self._drop(fault)
        elif fault and fault.kind == "status":
            self._send_error(fault)
        elif fault and fault.kind == "garbage":
            self._send(200, b"<html>this is not what you asked for")
        else:
            self._send_answer(request, fault)

    def _drop(self, fault: Fault) -> None:
        if fault.kind == "hang":
            self.scripted._released.wait()
        self.close_connection = True

    def _send_error(self, fault: Fault) -> None:
        error = {"error": {"message": fault.message, "type": "scripted", "code": fault.status}}
        self._send(fault.status, json.dumps(error).encode(), headers=fault.headers)

    def _send_answer(self, request: RecordedRequest, fault: Fault | None) -> None:
        answer = self.scripted._answer(request, fault)
        if answer is None:
            self._send_error(status(404, f"no such endpoint: {request.path}"))
            return
        body = json.dumps(answer).encode()
        if fault and fault.kind == "cut_off":
            self._send(200, body[: len(body) // 2], promised=len(body))
            self.close_connection = True
        else:
            self._send(200, body)

    def _send(
        self,
        code: int,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        promised: int | None = None,
    ) -> None:
        try:
            self.send_response(code)
            for key, value in (headers or {}).items():
                self.send_header(key, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(promised or len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            # The client gave up first; tests of time-outs and cancellation rely on that.
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet: the requests are recorded on the server."""
