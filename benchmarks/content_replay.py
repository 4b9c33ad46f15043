"""Replays one recorded run through the show-once conversation and measures every step.

What the recorded agent did is fixed, so the replay answers two questions: how many tokens would
have been sent, and would the agent still have had what it used? A use is a name (an id, a path,
an address) in the agent's own message that it can only know from a tool result it saw in full at
an earlier step than the last. It is *visible* when the prompt holds it, *reachable* when an item
cited in the prompt holds it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from benchmarks.content_traces import Message, Trace
from waypost.content.citation import cite
from waypost.content.compaction import choose
from waypost.content.conversation import Conversation, Prompt
from waypost.content.entries import Returned, ToolCall
from waypost.content.identifiers import content_id
from waypost.content.material import material_of
from waypost.content.mentions import mentions
from waypost.content.messages import problems
from waypost.content.policy import SHOW_EVERYTHING, Policy
from waypost.tokens import count_tokens

_ERROR = re.compile(r"\A\W{0,4}(?:\w+\.)*\w*(?:error|exception|traceback)\b", re.IGNORECASE)
_OPENED_TOKENS = 300


@dataclass
class Measured:
    """Sums over the steps of runs. ``fixed`` tokens are the instructions, the same either way."""

    without: int = 0
    with_channel: int = 0
    fixed: int = 0
    reopening: int = 0
    steps: int = 0
    uses: int = 0
    visible: int = 0
    reachable: int = 0
    invalid: int = 0
    peak_without: int = 0
    peak_with: int = 0
    rewrites: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    def add(self, other: Measured) -> None:
        for name in ("without", "with_channel", "fixed", "reopening", "steps", "uses", "visible"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.reachable += other.reachable
        self.invalid += other.invalid
        self.rewrites += other.rewrites
        self.peak_without = max(self.peak_without, other.peak_without)
        self.peak_with = max(self.peak_with, other.peak_with)

    @property
    def saved(self) -> float:
        """Share of the conversation's tokens that need not be sent, instructions apart."""
        return 1 - (self.with_channel - self.fixed) / max(self.without - self.fixed, 1)

    @property
    def saved_of_all(self) -> float:
        return 1 - self.with_channel / max(self.without, 1)

    @property
    def saved_with_reopening(self) -> float:
        spent = self.with_channel - self.fixed + self.reopening
        return 1 - spent / max(self.without - self.fixed, 1)


class Replay:
    """One run, step by step, with and without the channel."""

    def __init__(self, trace: Trace, policy: Policy) -> None:
        self.trace = trace
        self.policy = policy
        self.shown = Conversation(policy)
        self.plain = Conversation(SHOW_EVERYTHING)
        self.anthropic = Conversation(policy, style="anthropic")
        self.items: dict[str, str] = {}
        self.seen: list[str] = []
        self.known = ""
        self.measured = Measured()
        self._last_messages: list[Message] = []

    def run(self) -> Measured:
        for place, message in enumerate(self.trace.messages):
            if message["role"] == "assistant":
                self._step(message)
            self._add(place, message)
        return self.measured

    def _step(self, message: Message) -> None:
        prompt = self.shown.prompt()
        plain = self.plain.prompt()
        claude = self.anthropic.prompt()
        measured = self.measured
        measured.steps += 1
        measured.with_channel += prompt.tokens
        measured.without += plain.tokens
        measured.fixed += count_tokens(self._instructions())
        measured.peak_with = max(measured.peak_with, len(json.dumps(prompt.messages)))
        measured.peak_without = max(measured.peak_without, len(json.dumps(plain.messages)))
        measured.invalid += bool(
            problems(prompt.messages) or problems(claude.messages, "anthropic")
        )
        measured.rewrites += self._last_messages != prompt.messages[: len(self._last_messages)]
        self._last_messages = prompt.messages
        self._count_uses(prompt, message)

    def _instructions(self) -> str:
        """System prompt and first user message: sent with every step, with or without a channel."""
        first = []
        for message in self.trace.messages:
            if message["role"] not in ("system", "user"):
                break
            first.append(message["content"])
        return "\n".join(first)

    def _count_uses(self, prompt: Prompt, message: Message) -> None:
        written = json.dumps(message, ensure_ascii=False).replace("\\n", "\n").replace('\\"', '"')
        text = "\n".join(_texts(prompt))
        cited = [body for item, body in self.items.items() if item in text]
        older = self.seen[: -self._fresh_results()] if self._fresh_results() else self.seen
        unseen = 0
        for name in mentions(written, 500):
            if name in self.known or not any(name in result for result in older):
                continue
            self.measured.uses += 1
            visible = name in text
            self.measured.visible += visible
            self.measured.reachable += visible or any(name in body for body in cited)
            unseen += not visible
        if unseen:
            self.measured.reopening += prompt.tokens + _OPENED_TOKENS

    def _fresh_results(self) -> int:
        count = 0
        for entry in reversed(self._added):
            if entry != "tool":
                break
            count += 1
        return count

    @property
    def _added(self) -> list[str]:
        return [m["role"] for m in self.trace.messages[: self._position]]

    _position = 0

    def _add(self, place: int, message: Message) -> None:
        self._position = place + 1
        if message["role"] == "tool":
            self._add_result(message)
            return
        if message["role"] == "assistant":
            self._add_assistant(message)
            return
        self.known += "\n" + (message["content"] or "")
        for conversation in (self.shown, self.plain, self.anthropic):
            (conversation.add_system if message["role"] == "system" else conversation.add_user)(
                message["content"]
            )

    def _add_assistant(self, message: Message) -> None:
        text = message["content"] or ""
        calls = [
            ToolCall(c["id"], c["function"]["name"], _arguments(c["function"]["arguments"]))
            for c in message.get("tool_calls", [])
        ]
        whole = json.dumps(message, ensure_ascii=False)
        citation = cite(self._stored(whole), material_of(whole), token_count=0)
        for conversation in (self.shown, self.plain, self.anthropic):
            conversation.add_assistant(text, calls, citation=citation)

    def _add_result(self, message: Message) -> None:
        text = message["content"]
        source = next(iter(self.shown._open.values())).name
        material = material_of(text, source=source)
        tokens = count_tokens(text)
        item = self._stored(text)
        size = self.policy.citation_size(tokens)
        citation = cite(item, material, token_count=tokens, tokens=size)
        self.seen.append(text)
        for conversation in (self.shown, self.plain, self.anthropic):
            call = next(iter(conversation._open))
            kind = choose(material).name
            error = bool(_ERROR.match(text[:200]))
            conversation.add_result(Returned(call, source, text, citation, kind, error))

    def _stored(self, text: str) -> str:
        item = content_id(self.trace.name, len(self.items))
        self.items[item] = text
        return item


def _arguments(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        return {"text": text}
    return value if isinstance(value, dict) else {"value": value}


def _texts(prompt: Prompt) -> list[str]:
    return [
        (message["content"] or "") + json.dumps(message.get("tool_calls", ""), ensure_ascii=False)
        for message in prompt.messages
    ]
