"""ContextCompressor: stage and task summaries by two engines, with their cost and a cache.

The local engine always can; a chat model, when one is configured, words the summary, and the local
engine takes over when it fails. Compression never uses the reasoning model: it is refused at
construction. Equal content is compressed once in 24 hours: results are kept under a digest of the
texts, the target and the engine, before anything else is written, so a completion that is
interrupted and repeated gives the same summary at no further cost.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from waypost.chat import ChatModel, prices
from waypost.exceptions import InvalidInput
from waypost.model import CompressionMetric, MemoryRecord, StageMemory, SummaryLine, new_id, utc_now
from waypost.stages.compress.local import Compressed, Target, compress
from waypost.stages.compress.model import ModelFailed, ModelUse, compress_with
from waypost.stages.compress.near_repeats import repeats
from waypost.stages.compress.retention import validate_compression_quality
from waypost.stages.compress.sources import Source, from_memories, from_summary
from waypost.store import compressions
from waypost.store.database import Database

logger = logging.getLogger(__name__)

LOCAL = "local"
DEFAULT_MODEL = "gpt-4o-mini"
# Changes whenever the same sources may give another summary.
_FORMAT = 3
_IN_THREAD = 2_000
_INSIGHTS = 5
_INSIGHT_KINDS = ("decision", "outcome", "resolution")
_CRITICAL_KINDS = ("constraint", "error")


@dataclass(frozen=True, slots=True)
class CompressionConfig:
    """How summaries are made and what they are compared with."""

    compression_model: str = DEFAULT_MODEL
    reasoning_model: str = "gpt-4.1"
    stage_compression_ratio: float = 10.0
    task_compression_ratio: float = 5.0
    min_information_retention: float = 0.95
    max_tokens_per_stage: int = 500
    max_tokens_per_task: int = 2000
    use_caching: bool = True
    cache_ttl_hours: float = 24.0
    prices: dict[str, prices.Price] = field(default_factory=lambda: dict(prices.PRICES))

    @property
    def stage_target(self) -> Target:
        return Target(
            self.stage_compression_ratio, self.max_tokens_per_stage, self.min_information_retention
        )

    @property
    def task_target(self) -> Target:
        return Target(
            self.task_compression_ratio, self.max_tokens_per_task, self.min_information_retention
        )


@dataclass(frozen=True, slots=True)
class Compression:
    """A summary as it goes into a stage or task, with everything that is known about its making."""

    lines: tuple[SummaryLine, ...]
    insights: tuple[str, ...]
    critical_items: tuple[str, ...]
    original_tokens: int
    compressed_tokens: int
    retention: float
    pinned_kept: float
    unsupported: int
    engine: str
    model: str
    use: ModelUse
    fallback_reason: str | None = None
    cached: bool = False

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def ratio(self) -> float:
        return self.original_tokens / max(self.compressed_tokens, 1)


class ContextCompressor:
    """Compresses for one agent."""

    def __init__(
        self,
        database: Database,
        agent_id: str,
        *,
        chat: ChatModel | None = None,
        config: CompressionConfig | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.config = config or CompressionConfig()
        if chat is not None and chat.name == self.config.reasoning_model:
            raise InvalidInput(
                f"{chat.name} is the reasoning model and is never used for compression; configure "
                f"a cheaper one such as {DEFAULT_MODEL}"
            )
        self._database = database
        self._agent_id = agent_id
        self._chat = chat
        self._clock = clock

    async def compress_stage(
        self, memories: Sequence[MemoryRecord], stage_type: str
    ) -> Compression:
        """Summarise the memories of one stage."""
        sources = from_memories(memories)
        purpose = f"Summarise this {stage_type} stage."
        return await self._compress(sources, self.config.stage_target, purpose)

    async def compress_task(self, stages: Sequence[StageMemory], goal: str) -> Compression:
        """Summarise a task from the summaries of its stages, citing the memories below them."""
        is_told = repeats(goal)
        sources: list[Source] = []
        cited: dict[str, tuple[str, ...]] = {}
        for stage in stages:
            lines = from_summary(
                stage.summary_lines,
                stage.stage_id,
                latest=stage is stages[-1],
                is_told=is_told,
            )
            sources += lines
            cited |= {
                source.source_id: line.source_ids
                for source, line in zip(lines, stage.summary_lines, strict=True)
            }
        purpose = f"Summarise the progress of a task. Its goal: {goal}"
        found = await self._compress(sources, self.config.task_target, purpose)
        return _cite(found, cited)

    def validate_compression_quality(
        self, original: str | Sequence[Source], compressed: str
    ) -> float:
        """The share of the original's facts, by weight, that the compressed text keeps."""
        return validate_compression_quality(original, compressed)

    def estimate_compression_cost(self, token_count: int, ratio: float | None = None) -> float:
        """What compressing so many tokens costs in USD with the configured engine."""
        if self._chat is None:
            return 0.0
        out = int(token_count / (ratio or self.config.stage_compression_ratio))
        return self._cost(self._chat.name, token_count, out)

    def metric(self, found: Compression, level: str, **place: Any) -> CompressionMetric:
        """The row that records one compression; a cached one cost nothing."""
        paid = ModelUse(found.model, 0, 0) if found.cached else found.use
        counted = found.use
        if not (counted.tokens_in or counted.tokens_out):
            counted = ModelUse(found.model, found.original_tokens, found.compressed_tokens)
        return CompressionMetric(
            metric_id=new_id(),
            agent_id=self._agent_id,
            level=level,
            engine=found.engine,
            model_used=found.model,
            original_tokens=found.original_tokens,
            compressed_tokens=found.compressed_tokens,
            compression_ratio=found.ratio,
            information_retention_score=found.retention,
            pinned_kept=found.pinned_kept,
            unsupported=found.unsupported,
            tokens_in=paid.tokens_in,
            tokens_out=paid.tokens_out,
            cost_usd=self._cost(paid.model, paid.tokens_in, paid.tokens_out),
            reasoning_cost_usd=self._cost(
                self.config.reasoning_model, counted.tokens_in, counted.tokens_out
            ),
            cached=found.cached,
            recorded_at=self._clock(),
            **place,
        )

    def _cost(self, model: str, tokens_in: int, tokens_out: int) -> float:
        """USD by the price table; a model without a price is counted as the reasoning model."""
        table = self.config.prices
        known = prices.cost(model, tokens_in, tokens_out, table=table)
        if known is None:
            known = prices.cost(self.config.reasoning_model, tokens_in, tokens_out, table=table)
        return known or 0.0

    async def _compress(
        self, sources: Sequence[Source], target: Target, purpose: str
    ) -> Compression:
        digest = self._digest(sources, target, purpose)
        found = await self._cached(digest, sources) if self.config.use_caching else None
        if found is not None:
            return found
        made = await self._make(sources, target, purpose)
        if self.config.use_caching:
            await self._remember(digest, made, sources)
        return made

    async def _make(self, sources: Sequence[Source], target: Target, purpose: str) -> Compression:
        if self._chat is None or not sources:
            return _local(await self._locally(sources, target))
        try:
            summary = await compress_with(self._chat, sources, target, purpose=purpose)
        except ModelFailed as failure:
            logger.warning("compressed locally: %s", failure.reason)
            compressed = await self._locally(sources, target)
            return _local(compressed, use=failure.use, reason=failure.reason)
        return _compression(
            summary.compressed,
            engine="model",
            model=self._chat.name,
            use=summary.use,
            insights=summary.insights,
        )

    async def _locally(self, sources: Sequence[Source], target: Target) -> Compressed:
        if sum(len(source.text) for source in sources) < _IN_THREAD:
            return compress(sources, target)
        return await asyncio.to_thread(compress, sources, target)

    def _digest(self, sources: Sequence[Source], target: Target, purpose: str) -> str:
        engine = LOCAL if self._chat is None else self._chat.name
        parts: list[Any] = [
            _FORMAT,
            engine,
            target.ratio,
            target.max_tokens,
            target.retention,
            purpose,
        ]
        parts += [
            [source.text, source.commands, source.bulk, source.personal, source.pinned]
            for source in sources
        ]
        text = json.dumps(parts, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    async def _cached(self, digest: str, sources: Sequence[Source]) -> Compression | None:
        since = self._clock() - timedelta(hours=self.config.cache_ttl_hours)
        stored = await self._database.read(
            compressions.cached, self._agent_id, digest, since, agent=self._agent_id
        )
        return None if stored is None else _restored(stored, sources)

    async def _remember(self, digest: str, made: Compression, sources: Sequence[Source]) -> None:
        # A fallback is for this time only: the model gets its chance at the next completion.
        if made.fallback_reason is None and sources:
            now = self._clock()
            await self._database.write(
                _keep,
                self._agent_id,
                digest,
                _storable(made, sources),
                now,
                now - timedelta(hours=self.config.cache_ttl_hours),
                agent=self._agent_id,
            )


def _keep(
    connection: Any, agent_id: str, digest: str, result: dict[str, Any], *times: datetime
) -> None:
    now, stale = times
    compressions.forget_before(connection, agent_id, stale)
    compressions.remember(connection, agent_id, digest, result, now)


def _local(
    compressed: Compressed, *, use: ModelUse | None = None, reason: str | None = None
) -> Compression:
    return _compression(
        compressed,
        engine=LOCAL,
        model=use.model if use else LOCAL,
        use=use or ModelUse(LOCAL, 0, 0),
        reason=reason,
    )


def _compression(
    compressed: Compressed,
    *,
    engine: str,
    model: str,
    use: ModelUse,
    insights: tuple[str, ...] = (),
    reason: str | None = None,
) -> Compression:
    lines = compressed.lines
    return Compression(
        lines=lines,
        insights=insights or tuple(_of_kinds(lines, _INSIGHT_KINDS)[:_INSIGHTS]),
        critical_items=tuple(
            dict.fromkeys(
                [line.text for line in lines if line.pinned] + _of_kinds(lines, _CRITICAL_KINDS)
            )
        ),
        original_tokens=compressed.original_tokens,
        compressed_tokens=compressed.compressed_tokens,
        retention=compressed.report.retention,
        pinned_kept=compressed.report.pinned_kept,
        unsupported=len(compressed.report.unsupported),
        engine=engine,
        model=model,
        use=use,
        fallback_reason=reason,
    )


def _of_kinds(lines: Sequence[SummaryLine], kinds: tuple[str, ...]) -> list[str]:
    return [line.text for line in lines if line.kind in kinds and not line.pinned]


def _cite(found: Compression, cited: dict[str, tuple[str, ...]]) -> Compression:
    """Let the lines of a task cite the memories that its stages' lines cite."""
    lines = tuple(
        line.model_copy(
            update={
                "source_ids": tuple(
                    dict.fromkeys(name for key in line.source_ids for name in cited[key])
                )
            }
        )
        for line in found.lines
    )
    return replace(found, lines=lines)


_STORED = (
    "insights",
    "critical_items",
    "original_tokens",
    "compressed_tokens",
    "retention",
    "pinned_kept",
    "unsupported",
    "engine",
    "model",
)


def _storable(made: Compression, sources: Sequence[Source]) -> dict[str, Any]:
    """The result without ids: equal texts elsewhere have other ids, in the same places."""
    places = {source.source_id: place for place, source in enumerate(sources)}
    return {
        **{name: getattr(made, name) for name in _STORED},
        "use": [made.use.model, made.use.tokens_in, made.use.tokens_out],
        "lines": [
            [
                line.text,
                [places[name] for name in line.source_ids],
                line.pinned,
                line.kind,
                line.personal,
            ]
            for line in made.lines
        ],
    }


def _restored(stored: dict[str, Any], sources: Sequence[Source]) -> Compression:
    values = {name: stored[name] for name in _STORED}
    values["insights"] = tuple(values["insights"])
    values["critical_items"] = tuple(values["critical_items"])
    lines = tuple(
        SummaryLine(
            text=text,
            source_ids=tuple(sources[place].source_id for place in places),
            pinned=pinned,
            kind=kind,
            personal=personal,
        )
        for text, places, pinned, kind, personal in stored["lines"]
    )
    return Compression(lines=lines, use=ModelUse(*stored["use"]), cached=True, **values)
