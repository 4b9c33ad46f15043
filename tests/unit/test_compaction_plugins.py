"""Compaction plugins of other packages, found by their entry point."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from waypost.content.citation import cite
from waypost.content.compaction import choose, compact, compactors
from waypost.content.material import material_of

MODULE = """
from waypost.content.compaction.base import Compacted


class RecipeCompactor:
    name = "recipe"

    def confidence(self, material):
        return 0.97 if "Ingredients:" in material.head[:500] else 0.0

    def compact(self, material):
        if "poison" in material.head:
            raise RuntimeError("not that")
        return Compacted("recipe", tuple(material.head.splitlines()[1:4]), "ingredients", "Bread")
"""
ENTRY_POINTS = """[waypost.compaction]
recipe = cookery_plugin:RecipeCompactor
broken = cookery_plugin:NoSuchClass
"""
RECIPE = "Bread\nIngredients: flour, water, salt\nBake for 40 minutes.\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package on the path, as pip would leave it."""
    (tmp_path / "cookery_plugin.py").write_text(MODULE)
    info = tmp_path / "cookery-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cookery\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    compactors.cache_clear()
    yield
    compactors.cache_clear()


@pytest.mark.usefixtures("installed")
def test_an_installed_plugin_is_found_and_used(caplog: pytest.LogCaptureFixture) -> None:
    material = material_of(RECIPE, source="visit")
    with caplog.at_level(logging.ERROR):
        assert choose(material).name == "recipe"
    assert "compaction plugin broken could not be loaded" in caplog.text
    citation = cite("c-k7m2x", material, token_count=30)
    assert "[c-k7m2x] recipe “Bread” from visit" in citation.text
    assert "Ingredients: flour, water, salt" in citation.text


@pytest.mark.usefixtures("installed")
def test_a_plugin_that_fails_gives_way_to_the_built_in_ones() -> None:
    assert compact(material_of(RECIPE + "poison")).what.startswith("text")


def test_without_it_the_text_is_plain() -> None:
    assert choose(material_of(RECIPE)).name == "text"
