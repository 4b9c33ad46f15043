"""How a server is set up, as one value that can be handed to worker processes.

The rule that keeps the careless safe: with nothing configured a server listens on
the loopback interface only and takes tokens signed with a secret that it keeps in
a file of the user's own. To listen anywhere else, a secret or a JWKS must be given
on purpose.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from waypost.exceptions import InvalidInput
from waypost.service.auth import AUDIENCE, ISSUER, Authenticator, check_secret
from waypost.service.keys import Jwks, KeySource, SharedSecret, is_loopback
from waypost.service.limits import Limits

DEFAULT_PORT = 7077


class ServiceConfig(BaseModel):
    """Everything a server process needs to know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    host: str = "127.0.0.1"
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65535)
    workers: int = Field(default=1, ge=1, le=64)
    secret: SecretStr | None = None
    jwks: str | None = None
    issuer: str = ISSUER
    audience: str = AUDIENCE
    limits: Limits = Limits()
    plain_logs: bool = False
    traces: bool = False

    def check(self) -> None:
        """Refuse a set-up that would let strangers in."""
        if self.secret is not None and self.jwks is not None:
            raise InvalidInput("give either a token secret or a JWKS, not both")
        if self.secret is not None:
            check_secret(self.secret.get_secret_value().encode())
        if not is_loopback(self.host) and self.secret is None and self.jwks is None:
            raise InvalidInput(
                f"{self.host} can be reached from other machines, so tokens must be configured: "
                "set WAYPOST_JWKS (or --jwks) to your key set, or WAYPOST_TOKEN_SECRET to at "
                "least 32 random bytes"
            )

    def authenticator(self) -> Authenticator:
        return Authenticator(self._keys(), issuer=self.issuer, audience=self.audience)

    def _keys(self) -> KeySource:
        if self.jwks is not None:
            return Jwks(self.jwks)
        if self.secret is None:
            raise InvalidInput("no token secret and no JWKS is configured")
        return SharedSecret(self.secret.get_secret_value().encode())


def local_secret(path: Path) -> str:
    """The secret of this user's own servers: made once, readable by nobody else."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_secret(path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return local_secret(path)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32))
    return _read_secret(path)


def _read_secret(path: Path) -> str:
    if path.stat().st_mode & 0o077:
        raise InvalidInput(f"{path} can be read by other users; run: chmod 600 {path}")
    secret = path.read_text().strip()
    check_secret(secret.encode())
    return secret
