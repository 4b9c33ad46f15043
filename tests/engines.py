"""Engines on every database, for the suites that must hold on all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import waypost
from waypost import Engine, MemoryManager


class OnEveryDatabase:
    """Inherit from a suite and this to get ``url``; each subclass below is one database."""

    @pytest.fixture
    async def engine(self, url: str) -> AsyncIterator[Engine]:
        async with waypost.open(url) as engine:
            yield engine

    @pytest.fixture
    def memory(self, engine: Engine) -> MemoryManager:
        return engine.agent("planner")


class OnFile(OnEveryDatabase):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return str(tmp_path / "memory.db")


class InMemory(OnEveryDatabase):
    @pytest.fixture
    def url(self) -> str:
        return ":memory:"


class OnPostgres(OnEveryDatabase):
    @pytest.fixture
    def url(self, postgres_url: str) -> str:
        return postgres_url
