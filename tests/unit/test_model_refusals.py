"""What no store could keep is refused by the values themselves."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from waypost.model import Interaction, MemoryChanges, NewMemory


@pytest.mark.parametrize(
    "fields",
    [
        {"source": "\x00"},
        {"tags": ["a\x00b"]},
        {"metadata": {"deep": [{"\x00": 1}]}},
        {"actions": [{"name": "run", "result": "\x00"}]},
    ],
)
def test_a_nul_is_refused_wherever_it_stands(fields: dict[str, Any]) -> None:
    for kind, base in ((NewMemory, {"content": "x"}), (Interaction, {"query": "x"})):
        with pytest.raises(ValidationError, match="NUL"):
            kind.model_validate(base | fields)
    with pytest.raises(ValidationError, match="NUL"):
        MemoryChanges(summary="\x00")


def test_text_that_only_spells_a_nul_is_kept() -> None:
    assert NewMemory(content="x", source="\\u0000").source == "\\u0000"


def test_a_time_outside_the_calendar_is_refused() -> None:
    with pytest.raises(ValidationError, match="outside the calendar"):
        NewMemory.model_validate({"content": "x", "timestamp": "0001-01-01T00:00:00+14:00"})


def test_a_link_names_something_that_fits_an_id() -> None:
    for target in ("", "x" * 256):
        with pytest.raises(ValidationError):
            NewMemory.model_validate(
                {"content": "x", "links": [{"kind": "cites", "target_id": target}]}
            )
