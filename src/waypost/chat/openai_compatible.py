"""Chat through any server that speaks ``POST {base_url}/chat/completions``.

OpenAI, and also Ollama, vLLM, llama.cpp and most gateways. The client asks in the
server's dialect (see ``dialect``), retries and breaks like every provider call, and reads
the answer strictly: no choices, a refusal, or text that should be JSON and is not are a
``ProviderError``. A cut-off answer is returned as it is, with ``finish_reason`` "length".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from waypost.chat.dialect import Dialect
from waypost.chat.port import ChatReply, Message, ToolCall
from waypost.exceptions import InvalidInput, ProviderError
from waypost.resilience.http import ProviderHttp

if TYPE_CHECKING:
    from waypost.resilience import CircuitBreaker, RetryPolicy

OPENAI_URL = "https://api.openai.com/v1"
_REFUSED = frozenset({400, 422})


class OpenAICompatibleChat:
    """One model on one server; ``name`` is the model that every request names."""

    def __init__(
        self,
        model: str = "gpt-4o-mini",
        *,
        base_url: str = OPENAI_URL,
        api_key: str | None = None,
        timeout: float = 60.0,
        retry: RetryPolicy | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        self.name = model
        # OpenAI's newer models accept only the long name, other servers often only the short one.
        limit = "max_completion_tokens" if base_url == OPENAI_URL else "max_tokens"
        self._dialect = Dialect(limit_field=limit)
        self._http = ProviderHttp(
            base_url, api_key=api_key, timeout=timeout, retry=retry, breaker=breaker
        )

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        json_schema: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> ChatReply:
        """Answer the messages once; ``tools`` are passed on in the OpenAI form."""
        if max_tokens < 1:
            raise InvalidInput(f"max_tokens is at least 1, not {max_tokens}")
        settings = {
            "max_tokens": max_tokens,
            "temperature": temperature,
            "json_schema": json_schema,
        }
        extra: dict[str, Any] = {"model": self.name}
        if tools:
            extra["tools"] = list(tools)
        answer = await self._ask(messages, settings, extra)
        reply = _reply(answer, messages, model=self.name, provider=self._http.provider)
        if json_schema is None or reply.truncated or reply.tool_calls:
            return reply
        return _checked_json(reply, self._http.provider)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _ask(
        self, messages: Sequence[Message], settings: dict[str, Any], extra: dict[str, Any]
    ) -> dict[str, Any]:
        tried = [self._dialect]
        while True:
            body = tried[-1].body(messages, **settings) | extra
            try:
                answer = await self._http.post("/chat/completions", body)
            except ProviderError as error:
                following = _next_dialect(tried, error, settings["json_schema"] is not None)
                if following is None:
                    raise
                tried.append(following)
            else:
                self._dialect = tried[-1]
                return answer


def _next_dialect(tried: list[Dialect], error: ProviderError, wants_json: bool) -> Dialect | None:
    if error.facts.get("status") not in _REFUSED:
        return None
    following = tried[-1].adapted(error.message, wants_json=wants_json)
    return None if following in tried else following


def _reply(
    answer: Mapping[str, Any], messages: Sequence[Message], *, model: str, provider: str
) -> ChatReply:
    try:
        choice = answer["choices"][0]
        message = choice["message"]
        text = _text(message.get("content"))
        calls = tuple(_tool_call(call) for call in message.get("tool_calls") or ())
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ProviderError(f"{provider} answered without a usable message") from error
    if message.get("refusal"):
        raise ProviderError(f"{model} at {provider} refused to answer")
    tokens_in, tokens_out = _usage(answer, messages, text)
    return ChatReply(
        text=text,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        model=str(answer.get("model") or model),
        finish_reason=str(choice.get("finish_reason") or "stop"),
        tool_calls=calls,
    )


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(str(part["text"]) for part in content if part.get("type") == "text")


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    arguments = function.get("arguments") or "{}"
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=str(call.get("id") or ""), name=str(function["name"]), arguments=arguments)


def _usage(answer: Mapping[str, Any], messages: Sequence[Message], text: str) -> tuple[int, int]:
    usage = answer.get("usage")
    if isinstance(usage, dict) and isinstance(usage.get("prompt_tokens"), int):
        return usage["prompt_tokens"], int(usage.get("completion_tokens") or 0)
    # Some servers do not count; then the texts are counted here, without the framing.
    from waypost.tokens import count_tokens

    sent = sum(count_tokens(_text(message.get("content"))) for message in messages)
    return sent, count_tokens(text)


def _checked_json(reply: ChatReply, provider: str) -> ChatReply:
    text = next(filter(_is_json, (reply.text, _between_braces(reply.text))), None)
    if text is None:
        raise ProviderError(f"{reply.model} at {provider} answered text where JSON was asked for")
    return replace(reply, text=text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _between_braces(text: str) -> str:
    """Return the text without what models like to put around JSON: fences and introductions."""
    return text[text.find("{") : text.rfind("}") + 1]
