"""The generated reference pages say what the code says."""

from __future__ import annotations

import pytest

from scripts.reference import PAGES, REFERENCE


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_generated_page_is_current(name: str) -> None:
    written = (REFERENCE / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), "run: make docs"
