"""A process that opens a memory file, asks one question and says how long that took.

    python -m benchmarks.first_answer FILE AGENT QUESTION

Prints one JSON object: seconds since the process was started, with Python and every
import, and the memory it holds afterwards. Used by the speed benchmark.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

import psutil

import waypost


async def main(file: str, agent_id: str, question: str) -> None:
    async with waypost.open(file) as engine:
        recall = await engine.agent(agent_id).retrieve_memories(question, track_access=False)
        process = psutil.Process()
        result = {
            "open_s": round(time.time() - process.create_time(), 3),
            "rss_mb": round(process.memory_info().rss / 1e6, 1),
            "answers": len(recall.memories),
            "degraded": recall.degraded,
        }
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
