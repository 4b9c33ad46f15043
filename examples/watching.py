"""Watching an agent: a model that prints what it is sent and what it answers.

A chat model is anything with ``name``, ``complete`` and ``aclose``, so wrapping one is all it takes
to see every prompt. ``Watched`` also adds up what the same run would have sent if every message had
stayed in the conversation as it first appeared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from waypost import count_tokens
from waypost.chat import ChatModel, ChatReply
from waypost.content.compaction import compact
from waypost.content.material import material_of

_WIDTH = 100
_BAR = 24


def open_console() -> Console:
    """A console of a width that reads well, also when the output goes to a file."""
    console = Console(highlight=False)
    console.width = min(console.width, _WIDTH) if console.is_terminal else _WIDTH
    return console


class Watched:
    """A model and a console. Totals are in ``sent`` and ``unshortened``."""

    def __init__(self, chat: ChatModel, console: Console, who: str = "") -> None:
        self.name = chat.name
        self.who = who
        self.sent: list[int] = []
        self.unshortened: list[int] = []
        self._chat = chat
        self._console = console
        self._longest: dict[str, int] = {}

    async def complete(self, messages: Sequence[Mapping[str, Any]], **settings: Any) -> ChatReply:
        self._count(messages)
        self._print_prompt(messages)
        reply = await self._chat.complete(messages, **settings)
        self._print_reply(reply)
        return reply

    async def aclose(self) -> None:
        """The wrapped model belongs to who opened it."""

    def begin(self, title: str) -> None:
        """Start counting for another run."""
        self.sent, self.unshortened, self._longest = [], [], {}
        self._console.rule(Text(title, style="bold"), align="left")

    def print_totals(self) -> None:
        table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
        for column in ("step", "tokens sent", "if all had stayed"):
            table.add_column(column, justify="right")
        table.add_column("")
        most = max(self.unshortened)
        for step, (ours, theirs) in enumerate(zip(self.sent, self.unshortened, strict=True), 1):
            table.add_row(str(step), f"{ours:,}", f"{theirs:,}", _bar(ours, theirs, most))
        self._console.print()
        self._console.print(table)
        saved = 1 - sum(self.sent) / sum(self.unshortened)
        self._console.print(
            f"in all {sum(self.sent):,} tokens instead of {sum(self.unshortened):,}: "
            f"[bold]{saved:.0%} fewer[/bold]\n"
        )

    def _count(self, messages: Sequence[Mapping[str, Any]]) -> None:
        sizes = [count_tokens(_text(message)) for message in messages]
        for message, size in zip(messages, sizes, strict=True):
            if not _is_record(message):
                key = _key(message)
                self._longest[key] = max(size, self._longest.get(key, 0))
        self.sent.append(sum(sizes))
        self.unshortened.append(sum(self._longest.values()))

    def _print_prompt(self, messages: Sequence[Mapping[str, Any]]) -> None:
        step, tokens = len(self.sent), self.sent[-1]
        title = f"{self.who} step {step}".strip()
        self._console.print(f"\n[bold cyan]{title}[/bold cyan]  [dim]{tokens:,} tokens[/dim]")
        for message in messages:
            self._print_shown(message)

    def _print_shown(self, message: Mapping[str, Any]) -> None:
        text = str(message.get("content") or "")
        if message["role"] == "tool":
            cited = text.startswith("[c-")
            self._line(*(("cited", text, "dim") if cited else ("in full", _told(text), "green")))
        elif _is_record(message):
            for line in text.split("\n")[1:]:
                self._line("folded", line.removeprefix("- "), "dim")

    def _print_reply(self, reply: ChatReply) -> None:
        if reply.text:
            self._line("says", " ".join(reply.text.split()), "yellow", cut=False)
        for call in reply.tool_calls:
            self._line("calls", f"{call.name} {call.arguments}", "magenta")

    def _line(self, label: str, text: str, style: str, *, cut: bool = True) -> None:
        row = Table.grid(padding=(0, 2))
        row.add_column(justify="right", min_width=9, style="dim")
        row.add_column()
        shown = Text(text.split("\n")[0] if cut else text, style=style)
        if cut:
            shown.truncate(self._console.width - 13, overflow="ellipsis")
        row.add_row(label, shown)
        self._console.print(row)


def _bar(ours: int, theirs: int, most: int) -> Text:
    """What was sent, and behind it what would have been."""
    sent, spared = round(_BAR * ours / most), round(_BAR * theirs / most)
    bar = Text("━" * max(sent, 1), style="cyan")
    return bar.append("┄" * max(spared - sent, 0), style="dim")


def _told(text: str) -> str:
    """A result in a few words, as its citation would call it."""
    known = compact(material_of(text))
    title = f" “{known.title}”" if known.title else ""
    shown = known.what + title if len(text) > 200 else text
    return f"{shown} ({count_tokens(text):,} tokens)"


def _text(message: Mapping[str, Any]) -> str:
    calls = [str(call["function"]) for call in message.get("tool_calls") or ()]
    return "\n".join([str(message.get("content") or ""), *calls])


def _key(message: Mapping[str, Any]) -> str:
    """What identifies a message from prompt to prompt; a shortened one keeps its beginning."""
    if message["role"] == "tool":
        return f"result {message['tool_call_id']}"
    calls = message.get("tool_calls") or ()
    return f"call {calls[0]['id']}" if calls else f"{message['role']} {_text(message)[:60]}"


def _is_record(message: Mapping[str, Any]) -> bool:
    """Earlier steps in one line each: nothing that a conversation without citations would have."""
    return str(message.get("content") or "").startswith("(Earlier steps")
