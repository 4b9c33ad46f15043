"""Errors on the command line: one clear line on stderr and an exit code to test for.

1   something else went wrong
2   what was passed cannot be used
3   not found
4   it contradicts what is stored
5   not allowed
6   an embedder or chat model failed
7   the database or archive failed
8   an optional part is not installed
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from waypost import exceptions

EXIT_CODES: tuple[tuple[type[exceptions.WaypostError], int], ...] = (
    (exceptions.InvalidInput, 2),
    (exceptions.NotFound, 3),
    (exceptions.Conflict, 4),
    (exceptions.Forbidden, 5),
    (exceptions.ProviderError, 6),
    (exceptions.StorageError, 7),
    (exceptions.MissingExtra, 8),
)


def exit_code(error: exceptions.WaypostError) -> int:
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1)


def fail(message: str, code: int) -> NoReturn:
    print(f"waypost: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(code)


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turn what Waypost raises on purpose into a line and an exit code; let defects show."""
    try:
        yield
    except exceptions.WaypostError as error:
        fail(error.message, exit_code(error))
    except KeyboardInterrupt:
        fail("interrupted", 130)
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does; that is no failure worth a word.
        sys.stderr.close()
        raise SystemExit(141) from None
