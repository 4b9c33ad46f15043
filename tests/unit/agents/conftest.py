"""A scripted model behind real HTTP, and an agent with a memory file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import waypost
from waypost import Engine, MemoryManager
from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.resilience import RetryPolicy
from waypost.testing import ScriptedModelServer


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as running:
        yield running


@pytest.fixture
async def chat(server: ScriptedModelServer) -> AsyncIterator[OpenAICompatibleChat]:
    model = OpenAICompatibleChat(
        "scripted", base_url=server.base_url, retry=RetryPolicy(attempts=1)
    )
    yield model
    await model.aclose()


@pytest.fixture
def database_path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def engine(database_path: Path) -> AsyncIterator[Engine]:
    async with waypost.open(str(database_path)) as opened:
        yield opened


@pytest.fixture
def memory(engine: Engine) -> MemoryManager:
    return engine.agent("worker")
