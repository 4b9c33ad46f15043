"""Replays one recorded run through the show-once conversation and measures every step.

What the recorded agent did is fixed, so the replay answers two questions: how many tokens would
have been sent, and would the agent still have had what it used? A *use* is a name (an id, a path,
an address, a number) in the agent's own message that occurs in an earlier tool result other than
those of the step just before, and neither in the instructions nor in the user's words. It is
*visible* when the prompt holds it, *reachable* when the prompt holds it or cites an item from which
``retrieve_from_memory`` gives it back: the transform is run, and the name has to be in its answer.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.content_traces import Message, Trace
from waypost.content.citation import cite
from waypost.content.compaction import choose
from waypost.content.conversation import Conversation, Prompt
from waypost.content.entries import Returned, ToolCall
from waypost.content.identifiers import content_id
from waypost.content.material import material_of
from waypost.content.mentions import mentions
from waypost.content.messages import Style, problems
from waypost.content.policy import SHOW_EVERYTHING, Policy
from waypost.content.transforms import apply, source_of
from waypost.model import Transform, TransformType
from waypost.tokens import count_tokens

_ERROR = re.compile(r"\A\W{0,4}(?:\w+\.)*\w*(?:error|exception|traceback)\b", re.IGNORECASE)
_OPENED_TOKENS = 300
_SUMS = ("without", "with_channel", "fixed", "reopening", "steps", "uses", "visible", "reachable")


@dataclass
class Measured:
    """Sums over the steps of runs.

    ``fixed`` tokens are system prompt and task, sent at every step with or without the channel.
    ``reopening`` is what it would cost to open an item at every step that uses a name which is no
    longer visible: one more call with the whole prompt, and an answer of 300 tokens.
    """

    without: int = 0
    with_channel: int = 0
    fixed: int = 0
    reopening: int = 0
    steps: int = 0
    uses: int = 0
    visible: int = 0
    reachable: int = 0
    invalid: int = 0
    rewrites: int = 0
    peak_without: int = 0
    peak_with: int = 0

    def add(self, other: Measured) -> None:
        for name in (*_SUMS, "invalid", "rewrites"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.peak_without = max(self.peak_without, other.peak_without)
        self.peak_with = max(self.peak_with, other.peak_with)

    @property
    def saved(self) -> float:
        """Share of the conversation's tokens that are not sent, fixed ones apart."""
        return 1 - (self.with_channel - self.fixed) / max(self.without - self.fixed, 1)

    @property
    def saved_of_all(self) -> float:
        return 1 - self.with_channel / max(self.without, 1)

    @property
    def saved_with_reopening(self) -> float:
        spent = self.with_channel - self.fixed + self.reopening
        return 1 - spent / max(self.without - self.fixed, 1)

    @property
    def highest_possible(self) -> float:
        """The share that would be saved of everything if the whole conversation were left out."""
        return 1 - self.fixed / max(self.without, 1)


class Replay:
    """One run, step by step, with and without the channel, in both styles."""

    def __init__(self, trace: Trace, policy: Policy) -> None:
        self.trace = trace
        self.policy = policy
        self.shown = Conversation(policy)
        self.anthropic = Conversation(policy, style="anthropic")
        self.plain = Conversation(SHOW_EVERYTHING)
        self.measured = Measured()
        self.items: dict[str, str] = {}
        self.told = ""
        self.older: list[str] = []
        self.fresh: list[str] = []
        self._open: list[ToolCall] = []
        self._last: list[Message] = []
        self._fixed = count_tokens(_instructions(trace))

    def run(self) -> Measured:
        for message in self.trace.messages:
            role = message["role"]
            if role == "assistant":
                self._step(message)
                self._add_assistant(message)
            elif role == "tool":
                self._add_result(message)
            else:
                self._add_said(message)
        return self.measured

    @property
    def _conversations(self) -> tuple[Conversation, ...]:
        return self.shown, self.anthropic, self.plain

    def _step(self, message: Message) -> None:
        prompt, claude, plain = (conversation.prompt() for conversation in self._conversations)
        measured = self.measured
        measured.steps += 1
        measured.with_channel += prompt.tokens
        measured.without += plain.tokens
        measured.fixed += self._fixed
        measured.peak_with = max(measured.peak_with, _bytes(prompt.messages))
        measured.peak_without = max(measured.peak_without, _bytes(plain.messages))
        measured.invalid += not (valid(prompt.messages) and valid(claude.messages, "anthropic"))
        measured.rewrites += self._last != prompt.messages[: len(self._last)]
        self._last = prompt.messages
        self._count_uses(prompt, message)
        self.older += self.fresh
        self.fresh = []

    def _count_uses(self, prompt: Prompt, message: Message) -> None:
        text = "\n".join(map(_text, prompt.messages))
        cited = [body for identifier, body in self.items.items() if identifier in text]
        hidden = 0
        for name in mentions(_text(message), 500):
            if name in self.told or not any(name in result for result in self.older):
                continue
            visible = name in text
            self.measured.uses += 1
            self.measured.visible += visible
            self.measured.reachable += visible or any(_opens(body, name) for body in cited)
            hidden += not visible
        if hidden:
            self.measured.reopening += prompt.tokens + _OPENED_TOKENS

    def _add_said(self, message: Message) -> None:
        self.told += "\n" + message["content"]
        for conversation in self._conversations:
            if message["role"] == "system":
                conversation.add_system(message["content"])
            else:
                conversation.add_user(message["content"])

    def _add_assistant(self, message: Message) -> None:
        calls = [
            ToolCall(c["id"], c["function"]["name"], _arguments(c["function"]["arguments"]))
            for c in message.get("tool_calls", [])
        ]
        whole = json.dumps(message, ensure_ascii=False)
        identifier = self._stored(_text(message))
        citation = cite(identifier, material_of(whole), token_count=count_tokens(whole))
        for conversation in self._conversations:
            made = conversation.add_assistant(message["content"], calls, citation=citation)
        self._open = list(made)

    def _add_result(self, message: Message) -> None:
        text, call = message["content"], self._open.pop(0)
        material = material_of(text, source=call.name)
        tokens = count_tokens(text)
        size = self.policy.citation_size(tokens)
        citation = cite(self._stored(text), material, token_count=tokens, tokens=size)
        self.fresh.append(text)
        kind, error = choose(material).name, bool(_ERROR.match(text[:200]))
        result = Returned(call.id, call.name, text, citation, kind, is_error=error)
        for conversation in self._conversations:
            conversation.add_result(result)

    def _stored(self, text: str) -> str:
        identifier = content_id(self.trace.name, len(self.items))
        self.items[identifier] = text
        return identifier


def _opens(body: str, name: str) -> bool:
    """True when the tool finds the name in an item, as lines that match or as an excerpt."""
    if name not in body:
        return False
    source = source_of(body)
    return any(
        name in apply(Transform(type=kind, params=params), source).text
        for kind, params in (
            (TransformType.FILTERED, {"regex": re.escape(name)}),
            (TransformType.EXCERPT, {"around": name}),
        )
    )


def valid(messages: list[Message], style: Style = "openai") -> bool:
    """True when our own check and the official client's types accept the list."""
    if problems(messages, style):
        return False
    try:
        _adapter(style).validate_python(messages)
    except ValueError:
        return False
    return True


@cache
def _adapter(style: Style) -> Any:
    from pydantic import TypeAdapter

    if style == "openai":
        from openai.types.chat import ChatCompletionMessageParam

        return TypeAdapter(list[ChatCompletionMessageParam])
    from anthropic.types import MessageParam

    return TypeAdapter(list[MessageParam])


def _instructions(trace: Trace) -> str:
    """System prompt and task: the messages before the agent's first."""
    first = []
    for message in trace.messages:
        if message["role"] not in ("system", "user"):
            break
        first.append(message["content"])
    return "\n".join(first)


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {"text": text}
    return value if isinstance(value, dict) else {"value": value}


def _text(message: Message) -> str:
    """All that a message says, calls included, with the escapes of their JSON undone."""
    content = message.get("content") or ""
    calls = [
        f"{call['function']['name']} {call['function']['arguments']}"
        for call in message.get("tool_calls", ())
    ]
    return "\n".join([content, *calls]).replace("\\n", "\n").replace('\\"', '"')


def _bytes(messages: list[Message]) -> int:
    return len(json.dumps(messages, ensure_ascii=False).encode("utf-8", "replace"))
