"""What the surfaces read from the environment, and nothing else does.

The library takes arguments. The command line, the service and the MCP server
take these settings instead: each is an environment variable that starts with
``WAYPOST_``, and each option of a command goes before its variable. No key is
picked up from variables of other programs, so nothing is sent to a provider
that was not named here.

The reference page ``docs/reference/settings.md`` is generated from this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from waypost.exceptions import InvalidInput

PREFIX = "WAYPOST_"


class Settings(BaseSettings):
    """Every setting, with its default. Empty variables count as not set."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore"
    )

    url: str = Field(
        default_factory=lambda: str(default_file()),
        description="Where the memory is kept: the path of an SQLite file, or a "
        "`postgresql://` URL. By default a file in your user data directory.",
    )
    agent: str = Field(
        default="default",
        description="Whose memory the command line works on. Agents never see each other's.",
    )

    embedder_url: str | None = Field(
        default=None,
        description="Base URL of an OpenAI-compatible embedding server, such as "
        "`http://localhost:11434/v1` for Ollama. By default the built-in embedder is used, "
        "which needs no server, key or download.",
    )
    embedder_model: str | None = Field(
        default=None,
        description="Name of the model on that server; needed with `WAYPOST_EMBEDDER_URL`.",
    )
    embedder_dimension: int | None = Field(
        default=None, ge=1, le=16_000, description="Length of that model's vectors."
    )
    embedder_key: SecretStr | None = Field(
        default=None, description="Key for that server, where it asks for one."
    )

    chat_url: str | None = Field(
        default=None,
        description="Base URL of an OpenAI-compatible chat server. By default no chat model is "
        "called: summaries and facts are made locally.",
    )
    chat_model: str = Field(
        default="gpt-4o-mini", description="Name of the chat model on that server."
    )
    chat_key: SecretStr | None = Field(
        default=None, description="Key for that server, where it asks for one."
    )

    archive_url: str | None = Field(
        default=None,
        description="Where pruned memories go: a folder, or an `s3://`, `gs://` or `az://` URL. "
        "By default a folder beside the SQLite file.",
    )
    redis_url: str | None = Field(
        default=None,
        description="A `redis://` URL for working memory shared between processes. By default "
        "each process keeps its own.",
    )


def load() -> Settings:
    """The settings of this process; a bad value is an error that names the variable."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        variable = variable_name(str(first["loc"][0]))
        raise InvalidInput(f"{variable}: {first['msg'].lower()}", variable=variable) from None


def variable_name(field: str) -> str:
    return f"{PREFIX}{field.upper()}"


def unknown_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """Variables that start with our prefix but name no setting: usually a typing mistake."""
    known = {variable_name(field) for field in Settings.model_fields}
    names = os.environ if environment is None else environment
    return sorted(name for name in names if name.startswith(PREFIX) and name not in known)


def default_file() -> Path:
    """The memory file in the directory that the platform gives each user for data."""
    return user_data_directory() / "waypost" / "memory.db"


def user_data_directory() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    chosen = os.environ.get("XDG_DATA_HOME", "")
    # The specification says that a relative path is to be ignored.
    return Path(chosen) if Path(chosen).is_absolute() else Path.home() / ".local" / "share"
