"""What the programmer can do in a working copy: list, read, edit, test."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from waypost.agents import RunContext, tool
from waypost.agents.tools import ToolError

REPOSITORY = Path(__file__).parent / "repository"


@tool
def list_files(run: RunContext) -> str:
    """List the files of the repository."""
    return "\n".join(_files(run))


@tool
def read_file(run: RunContext, path: str) -> str:
    """Read a file."""
    return _file(run, path).read_text(encoding="utf-8")


@tool
def edit_file(run: RunContext, path: str, old: str, new: str) -> str:
    """Replace a text that occurs exactly once in a file by another."""
    file = _file(run, path)
    text = file.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise ToolError(
            f"the old text occurs {text.count(old)} times in {path}; give it exactly as it is there"
        )
    file.write_text(text.replace(old, new), encoding="utf-8")
    return f"edited {path}"


@tool
async def run_tests(run: RunContext) -> str:
    """Run all tests of the repository."""
    command = [sys.executable, "-B", "-m", "unittest", "-v"]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=run.context, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def _files(run: RunContext) -> list[str]:
    found = (path for path in run.context.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(run.context)) for path in found)


def _file(run: RunContext, path: str) -> Path:
    """A file of the working copy; the model may name no other."""
    known = _files(run)
    if path not in known:
        raise ToolError(f"there is no file {path!r}; there are {', '.join(known)}")
    return Path(run.context) / path
