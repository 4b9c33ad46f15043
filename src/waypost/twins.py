"""Methods that take their signature and documentation from a method of the library.

The client and the blocking facade offer what ``MemoryManager`` offers. Each of their
methods is made from its twin, so that neither people nor type checkers see a difference.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def methods_of(kind: type[T]) -> T:
    """The class as if it were an object: type checkers then see its methods without self."""
    return cast(T, kind)


class Twin(Generic[P, R]):
    """A method that looks like another one."""

    def __init__(self, twin: Callable[P, Any], method: Callable[Concatenate[Any, P], R]) -> None:
        functools.update_wrapper(method, twin)
        del method.__wrapped__  # type: ignore[attr-defined]
        method.__signature__ = inspect.signature(twin)  # type: ignore[attr-defined]
        self._method = method

    def __get__(self, holder: object | None, owner: type) -> Callable[P, R]:
        return cast(
            Callable[P, R], self._method if holder is None else MethodType(self._method, holder)
        )
