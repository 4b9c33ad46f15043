"""Regular expressions that a model wrote, run so that none can hang the process.

A pattern without repetition takes time linear in the text and runs here. Any other may
backtrack without end, which Python cannot interrupt, so it runs in a child process that is
ended after ``seconds``. Lines are cut to a fixed length before they are matched.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator

from waypost.exceptions import InvalidInput

LONGEST_PATTERN = 1000
LONGEST_LINE = 5000
_REPEATS = re.compile(r"[*+{?]")
_BATCH_CHARACTERS = 4_000_000
_CHILD = """
import json, re, sys
pattern, flags = json.loads(sys.stdin.readline())
search = re.compile(pattern, flags).search
for line in sys.stdin:
    lines = json.loads(line)
    print(json.dumps([n for n, text in enumerate(lines) if search(text)]), flush=True)
"""


def matching_lines(
    pattern: str, lines: Iterable[str], *, ignore_case: bool = False, seconds: float = 2.0
) -> Iterator[tuple[int, str]]:
    """Yield ``(line number from 1, line)`` for the lines in which the pattern is found."""
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    compiled = compile_pattern(pattern, flags)
    first = 1
    for batch in _batches(lines):
        cut = [line[:LONGEST_LINE] for line in batch]
        if _REPEATS.search(pattern):
            found = _search_in_child(pattern, int(flags), cut, seconds)
        else:
            found = [place for place, line in enumerate(cut) if compiled.search(line)]
        for place in found:
            yield first + place, batch[place]
        first += len(batch)


def compile_pattern(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Compile a pattern, or say where it is wrong."""
    if not pattern or len(pattern) > LONGEST_PATTERN:
        raise InvalidInput(f"a regex has 1 to {LONGEST_PATTERN} characters, not {len(pattern)}")
    try:
        return re.compile(pattern, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidInput(f"{pattern[:80]!r} is not a regular expression: {error}") from None


def _batches(lines: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line)
        if size >= _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _search_in_child(pattern: str, flags: int, lines: list[str], seconds: float) -> list[int]:
    request = json.dumps([pattern, flags]) + "\n" + json.dumps(lines) + "\n"
    try:
        answer = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CHILD],
            input=request.encode(),
            capture_output=True,
            timeout=seconds,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise InvalidInput(
            f"the regex {pattern[:80]!r} took longer than {seconds:g} s; avoid nested repeats "
            "such as (a+)+ and prefer a plain word"
        ) from None
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise InvalidInput(f"the regex {pattern[:80]!r} failed: {' '.join(last)}") from None
    found: list[int] = json.loads(answer.stdout)
    return found
