"""Every fundamental holds for a memory in a file and for one on a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.served import library_or_client
from waypost import MemoryManager


@pytest.fixture(params=["library", "client"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MemoryManager]:
    """Opening a file makes it; an agent's memory is bound to that agent."""
    async with library_or_client(request.param, tmp_path / "notes.db") as engine:
        yield engine.agent("planner")
