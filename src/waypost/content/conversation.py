"""The show-once conversation: what the model sees at each step.

Add what happens (user and agent messages, tool results), then ask for the next ``prompt()``. A
result is in it in full the first time and as a citation later, as the policy says. The list is
valid at every step: calls and results are paired, and stay so, because an exchange is folded
only as a whole. Pure and deterministic: the same calls give the same bytes; storing and citing
is done by :mod:`waypost.content.channel` above, or by you.

Nothing disappears without a trace. A result without a citation, an agent's text that was stored
nowhere, a user's words, errors and pinned results are never cited or folded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from waypost.content.citation import Citation, worth_citing
from waypost.content.entries import Called, Entry, Form, Returned, Said, ToolCall
from waypost.content.folding import fold_message
from waypost.content.messages import (
    Message,
    Piece,
    Style,
    anthropic_messages,
    openai_messages,
    system_text,
)
from waypost.content.policy import Policy, Show
from waypost.content.showing import WORTH_CUTTING, piece_of
from waypost.exceptions import InvalidInput

_MANY_RECORDS = 64


@dataclass(frozen=True)
class Prompt:
    """What the model is sent at one step.

    ``shown`` names the results that are in it for the first time, ``compacted`` the items that
    are cited or folded since the step before.
    """

    step: int
    messages: list[Message]
    system: str
    tokens: int
    compacted: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


@dataclass
class _Shown:
    """An entry and how it is shown now. ``born`` is the step before which it arrived."""

    entry: Entry
    born: int
    form: Form = Form.FULL
    wanted: Form = Form.FULL
    written: dict[Form, Piece] = field(default_factory=dict)

    def piece(self, form: Form, policy: Policy) -> Piece:
        if form not in self.written:
            self.written[form] = piece_of(self.entry, form, policy)
        return self.written[form]


@dataclass
class _Exchange:
    """A call message and its results, with their places in the list."""

    call: _Shown
    results: list[_Shown] = field(default_factory=list)

    @property
    def parts(self) -> list[_Shown]:
        return [self.call, *self.results]


class Conversation:
    """One agent's conversation in one run."""

    def __init__(self, policy: Policy | None = None, *, style: Style = "openai") -> None:
        self.policy = policy or Policy()
        self.style: Style = style
        self.step = 0
        self._shown: list[_Shown] = []
        self._open: dict[str, ToolCall] = {}
        self._used_ids: set[str] = set()
        self._kinds_seen: set[str] = set()
        self._record_lines = self.policy.record_lines
        self._records: dict[tuple[int, int, int, bool], Piece] = {}

    def add_system(self, text: str) -> None:
        self._say(Said("system", text))

    def add_user(self, content: str | Sequence[Mapping[str, Any]]) -> None:
        """Add the user's words, or content parts that are passed on as they are."""
        kept = content if isinstance(content, str) else tuple(content)
        self._say(Said("user", kept))

    def add_assistant(
        self, text: str | None, calls: Sequence[ToolCall] = (), *, citation: Citation | None = None
    ) -> tuple[ToolCall, ...]:
        """Add the agent's message; returns its calls, with a new id where one was used before."""
        if not calls:
            self._say(Said("assistant", text or "", citation))
            return ()
        self._refuse_open_calls()
        renamed = tuple(self._with_new_id(call) for call in calls)
        self._open = {call.id: call for call in renamed}
        self._shown.append(_Shown(Called(text or "", renamed, citation), self.step))
        return renamed

    def add_result(self, result: Returned) -> None:
        """Add the result of an open call."""
        if result.call_id not in self._open:
            waiting = ", ".join(self._open) or "no call"
            raise InvalidInput(f"no open call {result.call_id!r}; waiting for {waiting}")
        del self._open[result.call_id]
        shown = _Shown(result, self.step)
        shown.form = shown.wanted = self._first_form(result)
        self._shown.append(shown)

    def prompt(self) -> Prompt:
        """Begin the next step: apply the policy and give the list to send."""
        self._refuse_open_calls()
        if not any(shown.entry for shown in self._shown if _role(shown) != "system"):
            raise InvalidInput("the conversation is empty; add the user's message first")
        self.step += 1
        before = self._forms()
        self._age()
        self._fit_budget()
        pieces = list(self._pieces())
        return Prompt(
            self.step,
            self._written(pieces),
            system_text(pieces) if self.style == "anthropic" else "",
            sum(piece.tokens for piece in pieces),
            self._newly_compacted(before),
            self._newly_shown(),
        )

    @property
    def tokens(self) -> int:
        """Tokens of the list as it is shown now."""
        return sum(piece.tokens for piece in self._pieces())

    def _say(self, entry: Said) -> None:
        self._refuse_open_calls()
        self._shown.append(_Shown(entry, self.step))

    def _refuse_open_calls(self) -> None:
        if self._open:
            raise InvalidInput(
                f"the calls {', '.join(self._open)} have no result yet; add their results first"
            )

    def _with_new_id(self, call: ToolCall) -> ToolCall:
        candidate, count = call.id or "call", 1
        while candidate in self._used_ids:
            count += 1
            candidate = f"{call.id or 'call'}_{count}"
        self._used_ids.add(candidate)
        return call if candidate == call.id else ToolCall(candidate, call.name, call.arguments)

    def _first_form(self, result: Returned) -> Form:
        if result.citation is None or result.pinned:
            return Form.FULL
        rule = self.policy.rule_for(result.source, result.kind)
        key = result.source or result.kind
        repeated = rule.show is Show.FIRST_OF_KIND and key in self._kinds_seen
        self._kinds_seen.add(key)
        small = result.tokens <= self.policy.small_tokens or result.is_error
        if (rule.show is Show.NEVER or repeated) and not small:
            return Form.CITED
        return Form.CUT if result.tokens > self.policy.show_tokens else Form.FULL

    def _age(self) -> None:
        """Note what the policy wants smaller; do it all when that saves a whole batch."""
        for shown in self._shown:
            if shown.form is not Form.FOLDED:
                shown.wanted = max(shown.form, self._wanted(shown))
        for exchange in self._exchanges():
            if self._foldable(exchange, self.policy.fold_after):
                for part in exchange.parts:
                    part.wanted = Form.FOLDED
        if self._savings() >= self.policy.batch_tokens:
            self._apply_wanted()

    def _wanted(self, shown: _Shown) -> Form:
        entry, age = shown.entry, self.step - shown.born - 1
        if isinstance(entry, Returned):
            return self._wanted_of_result(entry, age)
        old = self.policy.own_steps is not None and age >= self.policy.own_steps
        own = isinstance(entry, Called) or entry.role == "assistant"
        if not (old and own and entry.citation):
            return Form.FULL
        cut = shown.piece(Form.CITED, self.policy).tokens
        return Form.CITED if cut + WORTH_CUTTING <= entry.tokens else Form.FULL

    def _wanted_of_result(self, entry: Returned, age: int) -> Form:
        rule = self.policy.rule_for(entry.source, entry.kind)
        if entry.citation is None or entry.pinned or rule.show is Show.ALWAYS or age < rule.steps:
            return Form.FULL
        if entry.is_error:
            return Form.CUT if entry.tokens > self.policy.error_tokens else Form.FULL
        small = entry.tokens <= self.policy.small_tokens
        return Form.CITED if not small and worth_citing(entry.tokens, entry.citation) else Form.FULL

    def _foldable(self, exchange: _Exchange, after: int | None) -> bool:
        """Whole, old enough, kept elsewhere, and with nothing in it that must stay."""
        call = exchange.call.entry
        if after is None or not isinstance(call, Called):
            return False
        if self.step - exchange.call.born - 1 < after or call.citation is None:
            return False
        return all(
            not part.entry.is_error and not part.entry.pinned and part.entry.citation
            for part in exchange.results
            if isinstance(part.entry, Returned)
        )

    def _exchanges(self) -> Iterator[_Exchange]:
        current: _Exchange | None = None
        for shown in self._shown:
            if isinstance(shown.entry, Returned):
                if current:
                    current.results.append(shown)
                continue
            if current:
                yield current
            current = _Exchange(shown) if isinstance(shown.entry, Called) else None
        if current:
            yield current

    def _savings(self) -> int:
        """Tokens that the wanted forms would save against the present ones."""
        changed = [shown for shown in self._shown if shown.wanted > shown.form]
        if not changed:
            return 0
        return self.tokens - sum(piece.tokens for piece in self._pieces(wanted=True))

    def _apply_wanted(self) -> None:
        for shown in self._shown:
            shown.form = shown.wanted

    def _fit_budget(self) -> None:
        """Give up more and more until the budget holds: what is due, then age, then the newest."""
        budget = self.policy.budget_tokens
        if budget is None:
            return
        for give_up in (
            self._apply_wanted,
            self._fold_oldest,
            self._shorten_record,
            self._cite_all,
        ):
            if self.tokens <= budget:
                return
            give_up()
        self._shorten_record(1)
        if self.tokens > budget:
            raise InvalidInput(
                f"the prompt needs {self.tokens:,} tokens after all compaction, more than the "
                f"budget of {budget:,}; the messages of user and system and pinned results "
                "are never shortened"
            )

    def _over_budget(self) -> bool:
        return self.tokens > (self.policy.budget_tokens or 0)

    def _fold_oldest(self) -> None:
        for exchange in list(self._exchanges())[:-1]:
            if self._foldable(exchange, 0) and self._over_budget():
                for part in exchange.parts:
                    part.form = part.wanted = Form.FOLDED

    def _shorten_record(self, least: int = 8) -> None:
        while self._record_lines > least and self._over_budget():
            self._record_lines = max(self._record_lines // 2, least)

    def _cite_all(self) -> None:
        for shown in self._shown:
            entry = shown.entry
            if isinstance(entry, Returned) and entry.citation and not entry.pinned:
                shown.form = shown.wanted = max(shown.form, Form.CITED)

    def _forms(self) -> list[Form]:
        return [shown.form for shown in self._shown]

    def _newly_shown(self) -> tuple[str, ...]:
        return tuple(
            shown.entry.citation.content_id
            for shown in self._shown
            if isinstance(shown.entry, Returned)
            and shown.entry.citation
            and shown.born == self.step - 1
        )

    def _newly_compacted(self, before: list[Form]) -> tuple[str, ...]:
        return tuple(
            shown.entry.citation.content_id
            for shown, form in zip(self._shown, before, strict=True)
            if shown.form > form and shown.entry.citation
        )

    def _pieces(self, *, wanted: bool = False) -> Iterator[Piece]:
        """The list in order; neighbouring folded exchanges become one message."""
        first, place = True, 0
        forms = [shown.wanted if wanted else shown.form for shown in self._shown]
        for folded, group in groupby(forms, key=lambda form: form is Form.FOLDED):
            end = place + len(list(group))
            if folded:
                yield self._record(place, end, first=first)
                first = False
            else:
                for shown, form in zip(self._shown[place:end], forms[place:end], strict=True):
                    yield shown.piece(form, self.policy)
            place = end

    def _record(self, start: int, end: int, *, first: bool) -> Piece:
        """The record of a stretch of folded entries, written once: entries never change."""
        key = (start, end, self._record_lines, first)
        if key not in self._records:
            if len(self._records) >= _MANY_RECORDS:
                self._records.clear()
            entries = [shown.entry for shown in self._shown[start:end]]
            self._records[key] = Piece("user", fold_message(entries, key[2], first=first))
        return self._records[key]

    def _written(self, pieces: list[Piece]) -> list[Message]:
        if self.style == "openai":
            return openai_messages(pieces)
        messages = anthropic_messages(pieces)
        if messages[0]["role"] != "user":
            raise InvalidInput("a conversation in Anthropic's style begins with a user message")
        return messages


def _role(shown: _Shown) -> str:
    return shown.entry.role if isinstance(shown.entry, Said) else ""
