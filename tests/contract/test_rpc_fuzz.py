"""Nonsense at the door: whatever is sent, the service answers, quickly and without a crash.

A few thousand requests in every run; a hundred thousand with ``make torture``.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import waypost
from tests.rpc_transports import SECRET
from tests.served import Served, served
from waypost.model import new_id
from waypost.service.auth import make_token
from waypost.service.discover import describe
from waypost.service.http import PATH
from waypost.service.methods import build_registry

ANSWER_SECONDS = 5.0
AT_ONCE = 8
DOCUMENT = describe(build_registry())
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**40, 0.5, -0.0, 1e308,
    5e-324, "", " ", "x", "\x00", "\u2028", "😀" * 3, "a" * 300, "-1", "null", "%s%n",
    "' OR 1=1 --", "../..",
    "2026-01-01", "2026-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z",
    [], {}, [[]], [{}], {"": ""}, {"$gt": 1}, {"$where": "x"}, {"$not": {}}, {"$and": []},
    {"kind": {"$in": []}}, {"timestamp": {"$gt": "x"}}, {"__proto__": {}}, ["a"] * 50,
)  # fmt: skip


class Fuzzer:
    """Makes requests that are almost right, each from its own seed."""

    def __init__(self, known_ids: list[str]) -> None:
        self._known_ids = known_ids

    def request(self, seed: int) -> bytes:
        chance = random.Random(seed)
        form = chance.random()
        if form < 0.70:
            body = self._encoded(self._call(chance), chance)
        elif form < 0.80:
            calls = [self._call(chance) for _ in range(chance.randrange(8))]
            body = json.dumps(calls).encode()
        elif form < 0.95:
            body = damaged(self._encoded(self._call(chance), chance), chance)
        else:
            body = chance.randbytes(chance.randrange(200))
        return body

    def _encoded(self, call: Any, chance: random.Random) -> bytes:
        return json.dumps(call, ensure_ascii=chance.random() < 0.5).encode()

    def _call(self, chance: random.Random) -> Any:
        method = chance.choice(DOCUMENT["methods"])
        call: dict[str, Any] = {
            "jsonrpc": "2.0",
            "method": method["name"],
            "params": self._params(method, chance),
            "id": chance.randrange(1000),
        }
        if chance.random() < 0.1:
            call[chance.choice([*call, "a2a_context", "extra"])] = self._odd(chance)
        if chance.random() < 0.05:
            del call[chance.choice(list(call))]
        return call

    def _params(self, method: dict[str, Any], chance: random.Random) -> Any:
        params = {
            param["name"]: self._value(param["schema"], chance, 0)
            for param in method["params"]
            if param["required"] or chance.random() < 0.4
        }
        if chance.random() < 0.1:
            return list(params.values())
        if chance.random() < 0.2:
            params[chance.choice([*params, "extra"])] = self._odd(chance)
        return params

    def _value(self, schema: dict[str, Any], chance: random.Random, depth: int) -> Any:
        """A value that mostly fits the schema."""
        if chance.random() < 0.08 or depth > 4:
            return self._odd(chance)
        if "$ref" in schema:
            schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        if "anyOf" in schema:
            return self._value(chance.choice(schema["anyOf"]), chance, depth)
        if "enum" in schema:
            return chance.choice(schema["enum"])
        return self._of_type(schema, chance, depth)

    def _of_type(self, schema: dict[str, Any], chance: random.Random, depth: int) -> Any:
        kind = schema.get("type")
        if kind == "object":
            properties = schema.get("properties", {})
            required = schema.get("required", ())
            return {
                name: self._value(member, chance, depth + 1)
                for name, member in properties.items()
                if name in required or chance.random() < 0.2
            }
        if kind == "array":
            items = schema.get("items", {})
            return [self._value(items, chance, depth + 1) for _ in range(chance.randrange(3))]
        if kind == "string":
            return chance.choice([*self._known_ids, new_id(), "a few words about the harbour", ""])
        plain = {"integer": chance.randrange(10), "number": chance.random(), "boolean": True}
        return plain.get(str(kind)) if kind in plain else self._odd(chance)

    def _odd(self, chance: random.Random) -> Any:
        return chance.choice(ODD_VALUES)


def damaged(body: bytes, chance: random.Random) -> bytes:
    """The bytes with a few of them changed, taken out or repeated."""
    changed = bytearray(body)
    for _ in range(chance.randrange(1, 5)):
        if not changed:
            break
        at = chance.randrange(len(changed))
        match chance.randrange(4):
            case 0:
                changed[at] = chance.randrange(256)
            case 1:
                del changed[at : at + chance.randrange(1, 20)]
            case 2:
                changed[at:at] = changed[at : at + chance.randrange(1, 50)]
            case _:
                changed[at:at] = chance.choice([b'"', b"{", b"[", b"\\ud800", b"\x00", b"1e999"])
    return bytes(changed)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with waypost.open(tmp_path / "memory.db") as engine, served(engine) as service:
        yield service


async def bombard(service: Served, seeds: range) -> None:
    """Send every request and check every answer."""
    memory = service.engine.agent("planner")
    stored = [await memory.add_memory(f"The harbour has {n} cranes.") for n in range(3)]
    fuzzer = Fuzzer([each.memory_id for each in stored])
    headers = {"authorization": f"Bearer {make_token(SECRET, 'planner')}"}
    queue = iter(seeds)

    async def work() -> None:
        async with httpx2.AsyncClient(base_url=service.address, headers=headers) as http:
            for seed in queue:
                body = fuzzer.request(seed)
                async with asyncio.timeout(ANSWER_SECONDS * AT_ONCE):
                    response = await http.post(PATH, content=body, timeout=None)
                check(response, seed, body)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    # What was there may have been deleted, pruned or erased by a lucky request; the next is kept.
    kept = await memory.add_memory("The harbour has a new lighthouse.")
    found = await memory.retrieve_memories("harbour lighthouse", k=50)
    assert kept.memory_id in [each.memory_id for each in found]


def check(response: httpx2.Response, seed: int, body: bytes) -> None:
    note = f"seed {seed}: {body[:2000]!r} got {response.status_code} {response.text[:2000]}"
    assert response.status_code in (200, 204), note
    assert b"Traceback" not in response.content, note
    if response.status_code == 204:
        assert not response.content, note
        return
    answers = response.json()
    for answer in answers if isinstance(answers, list) else [answers]:
        assert ("result" in answer) != ("error" in answer), note
        assert answer.get("error", {}).get("code") != -32603, note


async def test_two_thousand_requests_of_all_kinds_are_answered(service: Served) -> None:
    await bombard(service, range(2_000))


async def test_postgresql_takes_nonsense_as_calmly(postgres_url: str) -> None:
    async with waypost.open(postgres_url) as engine, served(engine) as service:
        await bombard(service, range(50_000, 51_000))


@pytest.mark.torture
async def test_a_hundred_thousand_requests_are_answered(service: Served) -> None:
    await bombard(service, range(100_000, 200_000))
