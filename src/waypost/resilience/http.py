"""One JSON request to a model server: time-out, retries, breaker, and our own errors.

Requests to embedders and chat models change nothing on the server, so every failure of
transport (refused, timed out, cut off) and every 408, 425, 429 and 5xx may be repeated;
these become ``ProviderUnavailable``. Any other answer than 200 with a JSON object is a
``ProviderError``. The key is sent in the Authorization header and nowhere else: error
messages quote the server only after the key has been blanked out.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from waypost.exceptions import InvalidInput, ProviderError, ProviderUnavailable
from waypost.resilience.breaker import CircuitBreaker
from waypost.resilience.retry import RetryPolicy

if TYPE_CHECKING:
    import httpx2

_WORTH_REPEATING = frozenset({408, 425, 429})
_QUOTED_CHARACTERS = 300


class ProviderHttp:
    """A connection to one model server."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        retry: RetryPolicy | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        self._base_url = _checked_url(base_url)
        self._key = _checked_key(api_key)
        self._timeout = timeout
        self._retry = retry or RetryPolicy()
        self._breaker = breaker or CircuitBreaker()
        self._client: httpx2.AsyncClient | None = None
        parts = urlsplit(self._base_url)
        self.provider = parts.hostname or base_url
        if parts.port:
            self.provider += f":{parts.port}"

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send the body as JSON and return the JSON object that comes back."""
        return await self._retry.run(lambda: self._guarded(path, body))

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _guarded(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self._breaker.enter(self.provider)
        try:
            answer = await self._attempt(path, body)
        except ProviderUnavailable as error:
            self._breaker.failed(error.message)
            raise
        except ProviderError:
            # The server is up and said no: that is no reason to leave it alone.
            self._breaker.succeeded()
            raise
        except BaseException:
            self._breaker.abandoned()
            raise
        self._breaker.succeeded()
        return answer

    async def _attempt(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        import httpx2

        try:
            # The client's own limits are per read; this one also ends an answer that trickles.
            async with asyncio.timeout(self._timeout):
                response = await self._opened().post(self._base_url + path, json=body)
        except (TimeoutError, httpx2.TimeoutException) as error:
            message = f"{self.provider} did not answer within {self._timeout:g} seconds"
            raise ProviderUnavailable(message, provider=self.provider) from error
        except httpx2.TransportError as error:
            message = f"{self.provider} cannot be reached: {self._blanked(str(error))}"
            raise ProviderUnavailable(message, provider=self.provider) from error
        except httpx2.HTTPError as error:
            message = f"{self.provider} answered unreadably: {self._blanked(str(error))}"
            raise ProviderError(message, provider=self.provider) from error
        return self._read(response)

    def _opened(self) -> httpx2.AsyncClient:
        import httpx2

        if self._client is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            timeout = httpx2.Timeout(self._timeout, connect=min(self._timeout, 10.0))
            self._client = httpx2.AsyncClient(headers=headers, timeout=timeout)
        return self._client

    def _read(self, response: httpx2.Response) -> dict[str, Any]:
        if response.status_code != 200:
            raise self._status_error(response)
        try:
            answer = json.loads(response.content)
        except ValueError as error:
            message = f"{self.provider} answered something that is not JSON"
            raise ProviderError(message, provider=self.provider) from error
        if not isinstance(answer, dict):
            raise ProviderError(
                f"{self.provider} answered a JSON {type(answer).__name__}, not an object",
                provider=self.provider,
            )
        return answer

    def _status_error(self, response: httpx2.Response) -> ProviderError:
        code = response.status_code
        said = self._blanked(_error_text(response.content))[:_QUOTED_CHARACTERS]
        message = f"{self.provider} answered HTTP {code}: {said}"
        facts: dict[str, Any] = {"provider": self.provider, "status": code}
        if code < 500 and code not in _WORTH_REPEATING:
            return ProviderError(message, **facts)
        wait = retry_after_seconds(response.headers.get("retry-after"), datetime.now(UTC))
        return ProviderUnavailable(message, **facts, retry_after=wait)

    def _blanked(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """Return how long a Retry-After header asks to wait: seconds or a date; None if unreadable."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except ValueError:
            return None
        aware = date if date.tzinfo else date.replace(tzinfo=UTC)
        seconds = (aware - now).total_seconds()
    # Comparing rejects "nan", which float() accepts.
    return max(seconds, 0.0) if seconds == seconds else None


def _error_text(content: bytes) -> str:
    text = content.decode("utf-8", "replace").strip()
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    said = error.get("message", error) if isinstance(error, dict) else error
    return str(said)


def _checked_url(base_url: str) -> str:
    parts = urlsplit(base_url)
    usable = parts.scheme in {"http", "https"} and parts.hostname and not parts.query
    if not usable or not _has_valid_port(parts):
        raise InvalidInput(
            "a model server's base URL starts with http:// or https://, names a host, perhaps "
            "a port, and has no query, for example http://localhost:11434/v1"
        )
    return base_url.rstrip("/")


def _has_valid_port(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False


def _checked_key(api_key: str | None) -> str | None:
    # An unsendable header would be quoted by the HTTP library, key and all.
    if api_key and not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise InvalidInput("the API key contains spaces, line breaks or non-ASCII characters")
    return api_key or None
