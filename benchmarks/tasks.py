"""Multi-session tasks with the memory and without it.

    python -m benchmarks.tasks [--worlds 5] [--sessions 60] [--json]

The same agent (``AgentLoop`` over real HTTP, the same reader as its model, the same tools) works
through the same sessions twice, with ``enable_memory`` on and off. A task succeeds when every value
in the answer is right; turns are calls of the model.

What this shows is whether the memory brings the right facts, the latest value of each, and what the
agent itself has found before, out of weeks of sessions about things with similar names. What it
cannot show is how well a real model would use them: the reader understands the few sentences
that these worlds are made of perfectly and nothing else.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import waypost
from benchmarks.tasks_reader import reply
from benchmarks.tasks_world import Session, World
from waypost.agents import AgentConfiguration, AgentLoop, RunContext, tool
from waypost.chat.openai_compatible import OpenAICompatibleChat
from waypost.testing import ScriptedModelServer

_START = datetime(2026, 3, 2, 9, tzinfo=UTC)
_INSTRUCTIONS = "You keep the papers of a small team. Use the notes; say what you do not know."


@tool
def search_notes(run: RunContext, words: str) -> str:
    """Find the notes in which all the words occur."""
    wanted = words.lower().split()
    found = [path for path, text in run.context.items() if all(w in text for w in wanted)]
    return "\n".join(found) or "no note has these words"


@tool
def read_note(run: RunContext, path: str) -> str:
    """Read a note."""
    return str(run.context.get(path, f"there is no note {path}"))


@dataclass(frozen=True)
class Attempt:
    """One task, done once."""

    succeeded: bool
    turns: int
    tokens: int


async def play(world: World, *, with_memory: bool) -> list[Attempt]:
    """All sessions of a world, a day apart; the attempts at its tasks."""
    now = [_START]
    settings = AgentConfiguration(
        instructions=_INSTRUCTIONS, enable_memory=with_memory, max_steps=12
    )
    with ScriptedModelServer(chat=reply) as server:
        chat = OpenAICompatibleChat("reader", base_url=server.base_url)
        async with waypost.open(":memory:", clock=lambda: now[0]) as engine:
            memory = engine.agent("clerk")
            loop = AgentLoop(chat, memory, tools=[search_notes, read_note], configuration=settings)
            attempts = []
            for session in world.sessions:
                result = await loop.run(session.text, context=world.notes)
                now[0] += timedelta(days=1)
                if session.expected:
                    right = _right(session, result.answer)
                    attempts.append(Attempt(right, result.steps, result.tokens_in))
        await chat.aclose()
    return attempts


def _right(session: Session, answer: str) -> bool:
    return all(f" {value}" in answer for value in session.expected.values())


def figures(with_memory: Sequence[Attempt], without: Sequence[Attempt]) -> dict[str, object]:
    both = [
        (ours, theirs)
        for ours, theirs in zip(with_memory, without, strict=True)
        if ours.succeeded and theirs.succeeded
    ]
    success = {"with": _share(with_memory), "without": _share(without)}
    turns = {"with": _turns(with_memory), "without": _turns(without)}
    return {
        "tasks": len(without),
        "success": success,
        "success_gain": round(success["with"] - success["without"], 4),
        "turns": turns,
        "turns_saved": round(1 - turns["with"] / turns["without"], 4),
        "turns_saved_where_both_succeed": round(
            1 - _turns([ours for ours, _ in both]) / _turns([theirs for _, theirs in both]), 4
        ),
    }


def _share(attempts: Sequence[Attempt]) -> float:
    return round(sum(one.succeeded for one in attempts) / len(attempts), 4)


def _turns(attempts: Sequence[Attempt]) -> float:
    return round(sum(one.turns for one in attempts) / max(len(attempts), 1), 4)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--worlds", type=int, default=5, help="how many teams")
    parser.add_argument("--sessions", type=int, default=60, help="sessions of each")
    parser.add_argument("--json", action="store_true", help="print only the figures, on one line")
    arguments = parser.parse_args(words)
    ours: list[Attempt] = []
    theirs: list[Attempt] = []
    for seed in range(arguments.worlds):
        world = World(seed, arguments.sessions)
        ours += asyncio.run(play(world, with_memory=True))
        theirs += asyncio.run(play(world, with_memory=False))
    result = figures(ours, theirs)
    if not arguments.json:
        print("| | with memory | without |\n|---|---:|---:|")
        print(f"| tasks solved | {_share(ours):.1%} | {_share(theirs):.1%} |")
        print(f"| turns per task | {_turns(ours):.2f} | {_turns(theirs):.2f} |")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
