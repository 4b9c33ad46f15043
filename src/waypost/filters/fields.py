"""What can be filtered: names, their types, and open JSON objects reached by dotted paths."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from waypost.exceptions import InvalidInput, UnknownField

_PATH_SEGMENT = re.compile(r"[\w-]{1,128}")
_MOST_SEGMENTS = 8


class FieldType(StrEnum):
    TEXT = "text"
    ID = "UUID"
    NUMBER = "number"
    TIME = "time"
    BOOL = "bool"
    TEXTS = "list of text"
    JSON = "JSON value"


@dataclass(frozen=True)
class Field:
    """One field. ``path`` leads into an open object; ``choices`` closes a vocabulary."""

    name: str
    type: FieldType
    path: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return ".".join((self.name, *self.path))


class FieldTable:
    """The fields of one kind of item. ``identity`` is the unique one that settles ties."""

    def __init__(self, fields: Iterable[Field], *, identity: str) -> None:
        self._fields: Mapping[str, Field] = {field.name: field for field in fields}
        self.identity = self._fields[identity]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that can be asked for; an open object is shown as ``name.<key>``."""
        return tuple(
            f"{name}.<key>" if field.type is FieldType.JSON else name
            for name, field in sorted(self._fields.items())
        )

    def find(self, name: str) -> Field:
        """Resolve a name, dotted for open objects; UnknownField names the known ones."""
        root, *path = name.split(".")
        field = self._fields.get(root)
        if field is None or (path and field.type is not FieldType.JSON):
            raise self._unknown(name)
        if field.type is FieldType.JSON:
            return Field(root, FieldType.JSON, path=_checked_path(name, path))
        return field

    def _unknown(self, name: str) -> UnknownField:
        return UnknownField(
            f"there is no field {name!r}{did_you_mean(name, self._fields)}; "
            f"known fields: {', '.join(self.names)}",
            field=name,
            known=list(self.names),
        )


def did_you_mean(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _checked_path(name: str, path: list[str]) -> tuple[str, ...]:
    if not path:
        raise InvalidInput(f"{name!r} is an object; name a key of it, such as {name}.colour")
    if len(path) > _MOST_SEGMENTS or not all(_PATH_SEGMENT.fullmatch(part) for part in path):
        raise InvalidInput(
            f"the path {name!r} cannot be used: a key is made of letters, digits, '_' and '-', "
            f"and a path has at most {_MOST_SEGMENTS} keys"
        )
    return tuple(path)
