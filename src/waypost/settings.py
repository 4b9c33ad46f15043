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
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from waypost.exceptions import InvalidInput

if TYPE_CHECKING:
    from waypost.engine import Opening
    from waypost.model.retention import RetentionPolicy

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

    embedder: str = Field(
        default="local",
        description="What turns text into vectors: `local` (built in; needs no server, key or "
        "download), `openai:MODEL`, `cohere:MODEL`, or any OpenAI-compatible server as "
        "`openai+http://HOST/v1?model=MODEL`.",
    )
    embedder_key: SecretStr | None = Field(
        default=None, description="Key for the embedder, where it asks for one."
    )
    chat: str | None = Field(
        default=None,
        description="A chat model that words summaries: `openai:gpt-4o-mini`, or any "
        "OpenAI-compatible server as `openai+http://HOST/v1?model=MODEL`. By default none is "
        "called and they are made locally.",
    )
    encoder: Literal["local", "model"] = Field(
        default="local",
        description="What finds summary, names, facts and keywords in a text: `local` (built in), "
        "or `model`, the chat model above, with the local one standing in when it fails.",
    )
    chat_key: SecretStr | None = Field(
        default=None, description="Key for the chat model, where it asks for one."
    )

    archive_url: str | None = Field(
        default=None,
        description="Where pruned memories go: a folder, or an `s3://`, `gs://` or `az://` URL. "
        "By default a folder beside the SQLite file.",
    )
    retention: str = Field(
        default="none",
        description="What is moved into the archive by itself: `none`; `standard` (working memory "
        "over 4,000 tokens, episodes over 50); or capacities of your own as JSON, such as "
        '`{"capacities": [{"type": "episodic", "max_items": 5000}]}`.',
    )
    host: str = Field(
        default="127.0.0.1",
        description="Address that `waypost serve` listens on. Anything but loopback needs "
        "`WAYPOST_JWKS` or `WAYPOST_TOKEN_SECRET`.",
    )
    port: int = Field(default=7077, ge=0, le=65535, description="Port of `waypost serve`.")
    token_secret: SecretStr | None = Field(
        default=None,
        description="Secret of at least 32 bytes that signs the service's tokens (HS256). For "
        "development; by default one is made and kept in your user data directory.",
    )
    jwks: str | None = Field(
        default=None,
        description="File or https address of the JWKS that verifies tokens (RS256, ES256).",
    )
    token_issuer: str = Field(default="waypost", description="The `iss` that tokens must have.")
    token_audience: str = Field(default="waypost", description="The `aud` that tokens must have.")

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


def opening(settings: Settings, *, url: str | None = None) -> Opening:
    """An engine with the chosen parts, to be awaited or entered; ``url`` goes before the setting.

    The directory of the default file is made; any other has to exist.
    """
    from waypost.engine import open as open_engine

    chosen = url or settings.url
    if chosen == str(default_file()):
        default_file().parent.mkdir(parents=True, exist_ok=True)
    return open_engine(chosen, **engine_options(settings))


def engine_options(settings: Settings) -> dict[str, Any]:
    """The settings as arguments of ``waypost.open``; what is not set keeps its default there."""
    options: dict[str, Any] = {
        "embedder": settings.embedder,
        "archive_url": settings.archive_url,
        "redis_url": settings.redis_url,
        "chat": settings.chat,
        "encoder": settings.encoder,
        "retention": retention_policy(settings.retention),
    }
    if settings.chat_key is not None:
        options["chat_key"] = settings.chat_key.get_secret_value()
    if settings.embedder_key is not None:
        options["api_key"] = settings.embedder_key.get_secret_value()
    return options


def retention_policy(text: str) -> RetentionPolicy:
    """The capacities that the setting names."""
    from waypost.model.retention import RetentionPolicy

    if text in ("none", "standard"):
        return RetentionPolicy() if text == "none" else RetentionPolicy.standard()
    try:
        return RetentionPolicy.model_validate_json(text)
    except ValidationError as error:
        variable = variable_name("retention")
        first = error.errors()[0]["msg"]
        raise InvalidInput(
            f"{variable} is none, standard or a policy as JSON: {first}", variable=variable
        ) from None


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
