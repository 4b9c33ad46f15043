"""Settings come from variables with our prefix, and mistakes in them are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from waypost import settings
from waypost.exceptions import InvalidInput


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for field in settings.Settings.model_fields:
        monkeypatch.delenv(settings.variable_name(field), raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_by_default_the_memory_is_a_file_in_the_user_data_directory(tmp_path: Path) -> None:
    assert settings.load().url == str(tmp_path / "data" / "waypost" / "memory.db")


def test_a_relative_data_directory_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "somewhere")
    assert settings.user_data_directory() == Path.home() / ".local" / "share"


def test_a_variable_changes_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_AGENT", "planner")
    assert settings.load().agent == "planner"


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_AGENT", "")
    assert settings.load().agent == "default"


def test_keys_do_not_show_when_settings_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_EMBEDDER_KEY", "sk-secret")
    assert "sk-secret" not in repr(settings.load())


def test_variables_that_are_no_setting_are_found() -> None:
    environment = {"WAYPOST_AGNET": "planner", "WAYPOST_AGENT": "planner", "PATH": "/bin"}
    assert settings.unknown_variables(environment) == ["WAYPOST_AGNET"]


def test_a_setting_of_another_program_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    assert settings.load().embedder_key is None


async def test_opening_makes_the_directory_of_the_default_file(tmp_path: Path) -> None:
    async with settings.opening(settings.load()) as engine:
        await engine.agent("planner").add_memory("The build needs Python 3.11.")
    assert (tmp_path / "data" / "waypost" / "memory.db").exists()


async def test_opening_makes_no_other_directory(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="does not exist"):
        await settings.opening(settings.load(), url=str(tmp_path / "missing" / "memory.db"))


def test_a_bad_embedder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_EMBEDDER", "nonsense")
    with pytest.raises(InvalidInput, match="address"):
        settings.opening(settings.load())


@pytest.mark.parametrize(
    ("value", "limits"),
    [
        ("none", []),
        ("standard", [(None, 4000), (50, None)]),
        ('{"capacities": [{"type": "episodic", "max_items": 7}]}', [(7, None)]),
    ],
)
def test_capacities_are_a_setting(
    monkeypatch: pytest.MonkeyPatch, value: str, limits: list[tuple[int | None, int | None]]
) -> None:
    monkeypatch.setenv("WAYPOST_RETENTION", value)
    policy = settings.engine_options(settings.load())["retention"]
    assert [(one.max_items, one.max_tokens) for one in policy.capacities] == limits


@pytest.mark.parametrize("value", ["always", '{"capacities": [{"type": "episodic"}]}', "[]"])
def test_a_policy_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("WAYPOST_RETENTION", value)
    with pytest.raises(InvalidInput, match="WAYPOST_RETENTION is none, standard or a policy"):
        settings.opening(settings.load())
