"""The channel: a show-once conversation whose results live in a content store.

It joins the pure :class:`~waypost.content.conversation.Conversation` with the store below it and
the run's record: every result is stored before it is shown, the agent's own messages are stored so
that they can be folded, and each prompt is recorded as it was sent. When storing fails the
conversation goes on: the result is then shown in full, because nothing else holds it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from waypost.chat.port import ChatModel
from waypost.content.attempts import MEMORY_SECONDS, attempt
from waypost.content.citation import Citation, cite
from waypost.content.compaction import choose
from waypost.content.compaction.by_model import COMPACTION_PROMPT, compact_by_model
from waypost.content.conversation import Conversation, Prompt
from waypost.content.entries import Returned, ToolCall
from waypost.content.incoming import as_bytes
from waypost.content.material import Material, material_of
from waypost.content.messages import Style
from waypost.content.policy import Policy
from waypost.content.runs import RunRecorder
from waypost.content.store import ContentStore
from waypost.exceptions import InvalidInput, WaypostError
from waypost.model import ContentItem

T = TypeVar("T")

OWN_MESSAGE = "own message"


class ContentChannel:
    """A conversation, its content and its record, for one run. Without a store, all stays in it."""

    def __init__(
        self,
        store: ContentStore | None,
        *,
        policy: Policy | None = None,
        style: Style = "openai",
        recorder: RunRecorder | None = None,
        compaction_model: ChatModel | None = None,
        compaction_prompt: str = COMPACTION_PROMPT,
        goal: str = "",
        memory_seconds: float = MEMORY_SECONDS,
    ) -> None:
        self.store = store
        self.conversation = Conversation(policy, style=style)
        self.recorder = recorder
        self.goal = goal
        self.failures: list[str] = []
        self._model = compaction_model
        self._model_prompt = compaction_prompt
        self._seconds = memory_seconds

    def add_system(self, text: str) -> None:
        self.conversation.add_system(text)

    def add_user(self, content: str | Sequence[Mapping[str, Any]]) -> None:
        self.conversation.add_user(content)

    async def add_assistant(
        self, text: str | None, calls: Sequence[ToolCall] = ()
    ) -> tuple[ToolCall, ...]:
        """Add the agent's message and keep it whole, so that it can be shortened later."""
        whole = {"text": text or "", "calls": [[c.name, dict(c.arguments)] for c in calls]}
        citation = await self._own_citation(json.dumps(whole, ensure_ascii=False))
        return self.conversation.add_assistant(text, calls, citation=citation)

    async def _own_citation(self, message: str) -> Citation | None:
        if self.store is None:
            return None
        keeping = self.store.store(message, source=OWN_MESSAGE, media_type="application/json")
        item = await self._attempt(keeping, "message not stored")
        if item is None:
            return None
        material = material_of(message, source=OWN_MESSAGE)
        return cite(item.content_id, material, token_count=item.token_count)

    async def add_result(
        self,
        call_id: str,
        content: str | bytes | Any,
        *,
        source: str = "",
        media_type: str = "",
        is_error: bool = False,
        pinned: bool = False,
        **details: Any,
    ) -> ContentItem | None:
        """Store a call's result and add it; None when storing failed.

        ``content`` is text, bytes, a JSON value, or an iterator over pieces of bytes (also async),
        which is stored as it comes and never held whole.
        """
        flags: dict[str, Any] = {"is_error": is_error, "pinned": pinned}
        kept = {"source": source, "media_type": media_type, **flags, **details}
        if isinstance(content, Iterator | AsyncIterator):
            item, material, text = await self._keep_stream(content, kept)
            flags["is_error"] = is_error or item is None
        else:
            item, material, text = await self._keep(content, kept)
        citation = await self._citation(item, material) if item else None
        kind = choose(material).name
        if citation:
            text = _shown_text(material, citation)
        self.conversation.add_result(Returned(call_id, source, text, citation, kind, **flags))
        if item and self.recorder:
            facts = {"content_id": item.content_id, "source": source, "size": item.size}
            await self._record("stored", facts | {"tokens": item.token_count, "kind": kind})
        return item

    async def _keep(
        self, content: Any, kept: dict[str, Any]
    ) -> tuple[ContentItem | None, Material, str]:
        """Store a result; returns the item, a sample of the result, and its whole text."""
        data, media = as_bytes(content, kept["media_type"])
        item = None
        if self.store:
            item = await self._attempt(self.store.store(content, **kept), "result not stored")
        text = data if isinstance(content, bytes) else data.decode()
        material = material_of(text, media_type=media, source=kept["source"])
        return item, material, "(binary data)" if isinstance(text, bytes) else text

    async def _keep_stream(
        self, chunks: Iterator[bytes] | AsyncIterator[bytes], kept: dict[str, Any]
    ) -> tuple[ContentItem | None, Material, str]:
        """Store what can be read only once; when that fails, the reason is the result."""
        try:
            if self.store is None:
                raise InvalidInput("a stream of any size needs a store; return text instead")
            item = await self.store.store_stream(chunks, **kept)
            return item, await self.store.sample(item.content_id), ""
        except WaypostError as error:
            self.failures.append(f"result not stored: {error}")
            text = f"Error: the result could not be kept: {error}"
            return None, material_of(text), text

    def add_view(
        self,
        call_id: str,
        text: str,
        *,
        source: str,
        opened: str | None = None,
        is_error: bool = False,
    ) -> None:
        """Add what a memory tool answered; it is cited by the item it came from, not stored."""
        citation = None
        if opened and not is_error:
            line = f'[{opened}] was opened here; retrieve_from_memory(id="{opened}") opens it again'
            citation = Citation(opened, line, f"[{opened}] opened again")
        self.conversation.add_result(
            Returned(call_id, source, text, citation, "view", is_error=is_error)
        )

    async def prompt(self) -> Prompt:
        """The list for the next step, recorded as it is sent."""
        prompt = self.conversation.prompt()
        if prompt.shown and self.store:
            before = self.recorder.steps_before if self.recorder else 0
            marking = self.store.mark_shown(prompt.shown, before + prompt.step)
            await self._attempt(marking, "first showing not noted")
        if self.recorder:
            await self._attempt(self.recorder.record_prompt(prompt), "prompt not recorded")
        return prompt

    async def _citation(self, item: ContentItem, material: Material) -> Citation:
        size = self.conversation.policy.citation_size(item.token_count)
        compacted = None
        if self._model and item.token_count > self.conversation.policy.small_tokens:
            compacted = await compact_by_model(
                self._model, material, goal=self.goal, prompt=self._model_prompt
            )
        return cite(
            item.content_id,
            material,
            token_count=item.token_count,
            tokens=size,
            compacted=compacted,
        )

    async def _record(self, kind: str, payload: dict[str, Any]) -> None:
        if self.recorder:
            recording = self.recorder.record(kind, self.conversation.step, payload)
            await self._attempt(recording, f"event {kind!r} not recorded")

    async def _attempt(self, work: Awaitable[T], what: str) -> T | None:
        """A memory that fails must not stop the agent; what failed is kept for the report."""
        return await attempt(work, self.failures, what, seconds=self._seconds)


def _shown_text(material: Material, citation: Citation) -> str:
    """What the model may see: text as it is, the ends of a huge one, the citation of bytes."""
    if material.is_binary:
        return citation.text
    if material.whole:
        return material.head
    middle = f"… [{citation.content_id}] {material.size:,} bytes in all …"
    return f"{material.head}\n{middle}\n{material.tail}"
