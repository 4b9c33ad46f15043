"""The channel: a show-once conversation whose results live in a content store.

It joins the pure :class:`~waypost.content.conversation.Conversation` with the store below it and
the run's record: every result is stored before it is shown, the agent's own messages are stored so
that they can be folded, and each prompt is recorded as it was sent. When storing fails the
conversation goes on: the result is then shown in full, because nothing else holds it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

from waypost.chat.port import ChatModel
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
from waypost.exceptions import WaypostError
from waypost.model import ContentItem

T = TypeVar("T")

_LONGEST_SHOWN = 400_000
_OWN_MESSAGE = "own message"

logger = logging.getLogger(__name__)


class ContentChannel:
    """A conversation, its content and its record, for one run."""

    def __init__(
        self,
        store: ContentStore,
        *,
        policy: Policy | None = None,
        style: Style = "openai",
        recorder: RunRecorder | None = None,
        compaction_model: ChatModel | None = None,
        compaction_prompt: str = COMPACTION_PROMPT,
        goal: str = "",
    ) -> None:
        self.store = store
        self.conversation = Conversation(policy, style=style)
        self.recorder = recorder
        self.goal = goal
        self.failures: list[str] = []
        self._model = compaction_model
        self._model_prompt = compaction_prompt

    def add_system(self, text: str) -> None:
        self.conversation.add_system(text)

    def add_user(self, content: str | Sequence[Mapping[str, Any]]) -> None:
        self.conversation.add_user(content)

    async def add_assistant(
        self, text: str | None, calls: Sequence[ToolCall] = ()
    ) -> tuple[ToolCall, ...]:
        """Add the agent's message and keep it whole, so that it can be shortened later."""
        whole = {"text": text or "", "calls": [[c.name, dict(c.arguments)] for c in calls]}
        kept = json.dumps(whole, ensure_ascii=False)
        item = await self._attempt(
            self.store.store(kept, source=_OWN_MESSAGE, media_type="application/json")
        )
        citation = None
        if item is not None:
            material = material_of(kept, source=_OWN_MESSAGE)
            citation = cite(item.content_id, material, token_count=item.token_count)
        return self.conversation.add_assistant(text, calls, citation=citation)

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
        """Store a call's result and add it; None when storing failed."""
        data, media = as_bytes(content, media_type)
        material = material_of(_text_or(content, data), media_type=media, source=source)
        flags: dict[str, Any] = {"is_error": is_error, "pinned": pinned}
        item = await self._attempt(
            self.store.store(content, source=source, media_type=media_type, **flags, **details)
        )
        citation = await self._citation(item, material) if item else None
        text = _shown_text(content, material, citation)
        kind = choose(material).name
        self.conversation.add_result(Returned(call_id, source, text, citation, kind, **flags))
        if item and self.recorder:
            facts = {"content_id": item.content_id, "source": source, "size": item.size}
            await self._record("stored", facts | {"tokens": item.token_count, "kind": kind})
        return item

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
        if prompt.shown:
            await self._attempt(self.store.mark_shown(prompt.shown, prompt.step))
        if self.recorder:
            await self._attempt(self.recorder.record_prompt(prompt))
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
            await self._attempt(self.recorder.record(kind, self.conversation.step, payload))

    async def _attempt(self, work: Awaitable[T]) -> T | None:
        """A memory that fails must not stop the agent; what failed is kept for the report."""
        try:
            return await work
        except WaypostError as error:
            logger.warning("the content channel goes on without storing: %s", error)
            self.failures.append(str(error))
            return None


def _text_or(content: Any, data: bytes) -> str | bytes:
    return content if isinstance(content, bytes) else data.decode()


def _shown_text(content: Any, material: Material, citation: Citation | None) -> str:
    """What the model may see: text as it is, the ends of a huge one, the citation of bytes."""
    if material.is_binary:
        return citation.text if citation else "(binary data)"
    if isinstance(content, str) and len(content) <= _LONGEST_SHOWN:
        return content.encode("utf-8", "replace").decode()
    if material.whole:
        return material.head
    where = f"[{citation.content_id}] " if citation else ""
    return f"{material.head}\n… {where}{material.size:,} bytes in all …\n{material.tail}"
