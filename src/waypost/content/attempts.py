"""Asking the memory for something that an agent can do without.

An agent answers whatever its memory does: an error, a hang or a defect there becomes a line in
``degraded``, never an exception or an endless wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import TypeVar

from waypost.exceptions import WaypostError

T = TypeVar("T")

MEMORY_SECONDS = 30.0

logger = logging.getLogger(__name__)


async def attempt(
    work: Awaitable[T], degraded: list[str], what: str, *, seconds: float = MEMORY_SECONDS
) -> T | None:
    """The result, or None after noting what could not be done and why."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await work
    except WaypostError as error:
        reason = str(error)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        if limit.expired():
            reason = f"no answer within {seconds:g} s"
        else:
            # A defect of the memory is ours to repair, not the agent's to suffer.
            logger.exception("the memory failed: %s", what)
    logger.warning("%s: %s", what, reason)
    degraded.append(f"{what}: {reason}")
    return None
