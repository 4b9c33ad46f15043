"""``waypost serve`` and ``waypost token``: the service, and the keys to it.

Without any configuration ``serve`` listens on this machine only and prints a token
to use; see ``waypost.service.config`` for the rule that guards everything else.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from waypost.cli.options import Agent, Url

if TYPE_CHECKING:
    from waypost.service.config import ServiceConfig

Host = Annotated[str | None, typer.Option(help="Address to listen on.  [env: WAYPOST_HOST]")]
Port = Annotated[int | None, typer.Option(help="Port; 0 takes a free one.  [env: WAYPOST_PORT]")]
Workers = Annotated[int, typer.Option(help="Processes that serve.")]
KeySet = Annotated[
    str | None, typer.Option("--jwks", help="File or https address of a JWKS.  [env: WAYPOST_JWKS]")
]
Stdio = Annotated[
    bool, typer.Option("--stdio", help="Serve one agent over standard input and output instead.")
]
PlainLogs = Annotated[bool, typer.Option("--plain-logs", help="Log text for people, not JSON.")]
Traces = Annotated[
    bool, typer.Option("--traces", help="Send OpenTelemetry traces; set OTEL_* for where.")
]


def serve(
    url: Url = None,
    *,
    agent: Agent = None,
    host: Host = None,
    port: Port = None,
    workers: Workers = 1,
    jwks: KeySet = None,
    stdio: Stdio = False,
    plain_logs: PlainLogs = False,
    traces: Traces = False,
) -> None:
    """Give agents the memory over the network (JSON-RPC 2.0)."""
    _require_service()
    from waypost import settings

    chosen = settings.load()
    options: dict[str, Any] = {"workers": workers, "plain_logs": plain_logs, "traces": traces}
    options |= {"url": url or chosen.url, "jwks": jwks or chosen.jwks}
    options |= {"host": host or chosen.host, "port": chosen.port if port is None else port}
    if stdio:
        _serve_stdio(options, agent or chosen.agent)
    else:
        _serve_http(options, chosen, agent or chosen.agent)


def _serve_stdio(options: dict[str, Any], agent: str) -> None:
    import asyncio

    from waypost.service.config import ServiceConfig
    from waypost.service.server import run_stdio

    asyncio.run(run_stdio(ServiceConfig(**options), agent))


def _serve_http(options: dict[str, Any], chosen: Any, agent: str) -> None:
    from waypost.service import server
    from waypost.service.config import ServiceConfig

    config = ServiceConfig(
        **options,
        secret=chosen.token_secret,
        issuer=chosen.token_issuer,
        audience=chosen.token_audience,
    )
    config.check()
    made_secret = config.secret is None and config.jwks is None
    if made_secret:
        config = config.model_copy(update={"secret": _own_secret()})
    listening = server.listen(config)
    _announce(config, listening.getsockname()[1], agent if made_secret else None)
    server.run(config, listening)


def _announce(config: ServiceConfig, port: int, agent: str | None) -> None:
    """Say where to reach the server and, when nothing was configured, with which token."""
    host = f"[{config.host}]" if ":" in config.host else config.host
    typer.echo(f"Waypost serves {config.url}")
    typer.echo(f"listening on http://{host}:{port}/api/v1/jsonrpc")
    if agent is not None and config.secret is not None:
        from waypost.service.auth import make_token

        secret = config.secret.get_secret_value().encode()
        token = make_token(secret, agent, issuer=config.issuer, audience=config.audience)
        typer.echo(f"token for agent {agent!r}, valid for a day: {token}")
        typer.echo("more tokens: waypost token --agent NAME")


Scopes = Annotated[
    str, typer.Option("--scope", help="What it allows: words of read, write and admin.")
]
Hours = Annotated[float, typer.Option("--hours", min=0.01, help="How long it is valid.")]


def token(agent: Agent = None, *, scope: Scopes = "read write admin", hours: Hours = 24) -> None:
    """Make a development token for an agent, signed with the server's secret."""
    _require_service()
    from waypost import settings
    from waypost.service.auth import make_token

    chosen = settings.load()
    secret = (chosen.token_secret or _own_secret()).get_secret_value().encode()
    made = make_token(
        secret,
        agent or chosen.agent,
        scopes=_scopes(scope),
        seconds=int(hours * 3600),
        issuer=chosen.token_issuer,
        audience=chosen.token_audience,
    )
    typer.echo(made)


def _scopes(words: str) -> Any:
    from waypost.exceptions import InvalidInput
    from waypost.service.caller import Scope

    try:
        return frozenset(Scope(word) for word in words.replace(",", " ").split())
    except ValueError as error:
        raise InvalidInput(f"{error}; scopes are read, write and admin") from None


def _own_secret() -> Any:
    from pydantic import SecretStr

    from waypost.service.config import local_secret

    return SecretStr(local_secret(_secret_file()))


def _secret_file() -> Path:
    from waypost import settings

    return settings.user_data_directory() / "waypost" / "token-secret"


def _require_service() -> None:
    from importlib.util import find_spec

    from waypost.exceptions import MissingExtra

    missing = [name for name in ("fastapi", "jwt", "prometheus_client") if find_spec(name) is None]
    if missing:
        raise MissingExtra("the service needs more packages: pip install 'waypost[service]'")


def register(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(token)
