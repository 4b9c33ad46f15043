"""Regular expressions that a model wrote, run so that none can hang the process.

A pattern without repetition takes time linear in the text and runs here. Any other may
backtrack without end, which Python cannot interrupt, so it runs in a child process that is
ended after ``seconds``. A very long line (JSON is often a single one) is searched in pieces that
overlap, and what matches is the piece.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator

from waypost.exceptions import InvalidInput

LONGEST_PATTERN = 1000
LONGEST_LINE = 2000
_OVERLAP = 200
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
    for batch in _batches(_pieces(lines)):
        texts = [text for _, text in batch]
        if _REPEATS.search(pattern):
            found = _search_in_child(pattern, int(flags), texts, seconds)
        else:
            found = [place for place, text in enumerate(texts) if compiled.search(text)]
        yield from (batch[place] for place in found)


def compile_pattern(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Compile a pattern, or say where it is wrong."""
    if not pattern or len(pattern) > LONGEST_PATTERN:
        raise InvalidInput(f"a regex has 1 to {LONGEST_PATTERN} characters, not {len(pattern)}")
    try:
        return re.compile(pattern, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidInput(f"{pattern[:80]!r} is not a regular expression: {error}") from None


def _pieces(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; a long one as overlapping pieces of the same number."""
    step = LONGEST_LINE - _OVERLAP
    for number, line in enumerate(lines, 1):
        if len(line) <= LONGEST_LINE:
            yield number, line
            continue
        for start in range(0, len(line) - _OVERLAP, step):
            yield number, line[start : start + LONGEST_LINE]


def _batches(pieces: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    batch: list[tuple[int, str]] = []
    size = 0
    for number, text in pieces:
        batch.append((number, text))
        size += len(text)
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
