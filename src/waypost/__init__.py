"""Waypost: a memory for AI agents that work on long tasks.

    engine = await waypost.open("notes.db")
    memory = engine.agent("planner")
    await memory.add_interaction("Which port does staging use?", "Port 8443.")
    recall = await memory.retrieve_memories("staging port")

Everything a user needs has its name here. Importing this package runs nothing and
loads nothing heavy: each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from waypost import exceptions, sync, testing
    from waypost.agents import (
        AgentConfiguration,
        AgentLoop,
        Answer,
        MemoryEnabledAgent,
        RunContext,
        RunResult,
        Tool,
        tool,
    )
    from waypost.chat import ChatModel, ChatReply, chat_model_from_url
    from waypost.client import Client
    from waypost.content.conversation import Conversation
    from waypost.content.policy import Policy
    from waypost.content.sharing import SharedContent, Sharing
    from waypost.content.store import ContentStore
    from waypost.content.tools import ToolExecutor
    from waypost.context.assembler import ContextAssembler
    from waypost.embed import Embedder, embedder_from_url
    from waypost.engine import Engine, open, reembed
    from waypost.errors.strategy import Strategist
    from waypost.errors.tracker import ErrorTracker
    from waypost.exceptions import WaypostError
    from waypost.memory import MemoryManager
    from waypost.model import (
        Action,
        AgentProfile,
        CompressionMetric,
        ContentCriteria,
        ContentItem,
        ContentSnapshot,
        ContentType,
        ContentView,
        DecisionType,
        ErrorPattern,
        ErrorRecord,
        Fact,
        Factors,
        HistoryEntry,
        Interaction,
        LinkKind,
        MemoryChanges,
        MemoryLink,
        MemoryPlace,
        MemoryRecord,
        MemoryType,
        NewMemory,
        Origin,
        Recall,
        RecalledMemory,
        RecallRequest,
        RouteHit,
        SourceTrail,
        StageContext,
        StageMemory,
        StageType,
        Stored,
        StrategicContext,
        SummaryLine,
        TaskContext,
        TaskProgress,
        TaskStatus,
        Tier,
        TimeRange,
        Transform,
        TransformType,
        Trust,
        Weights,
        Why,
    )
    from waypost.model.context import (
        ContextEntry,
        ContextItem,
        ContextPackage,
        ContextProfile,
        ContextRequest,
        LearnedSplit,
        TierSplit,
    )
    from waypost.model.retention import (
        Capacity,
        ErasureReport,
        PruneReport,
        RestoreReport,
        RetentionPolicy,
        Strategy,
    )
    from waypost.retention.archive import Archive
    from waypost.stages.compress import validate_compression_quality
    from waypost.stages.compressor import CompressionConfig, ContextCompressor
    from waypost.stages.manager import StageManager
    from waypost.stages.tasks import TaskManager
    from waypost.tiers.backends import (
        InMemoryBackend,
        JsonFileBackend,
        MemoryBackend,
        SqliteItemBackend,
    )
    from waypost.tiers.global_store import GlobalMemoryStore
    from waypost.tiers.project_store import ProjectMemoryStore
    from waypost.tiers.task_store import TaskMemoryStore
    from waypost.tokens import count_tokens

_MODULES = ("exceptions", "sync", "testing")
_HOMES = {
    "waypost.agents": (
        "AgentConfiguration AgentLoop Answer MemoryEnabledAgent RunContext RunResult Tool tool "
    ),
    "waypost.chat": "ChatModel ChatReply chat_model_from_url",
    "waypost.client": "Client",
    "waypost.content.conversation": "Conversation",
    "waypost.content.policy": "Policy",
    "waypost.content.sharing": "SharedContent Sharing",
    "waypost.content.store": "ContentStore",
    "waypost.content.tools": "ToolExecutor",
    "waypost.context.assembler": "ContextAssembler",
    "waypost.embed": "Embedder embedder_from_url",
    "waypost.engine": "Engine open reembed",
    "waypost.errors.strategy": "Strategist",
    "waypost.errors.tracker": "ErrorTracker",
    "waypost.exceptions": "WaypostError",
    "waypost.memory": "MemoryManager",
    "waypost.model": (
        "Action AgentProfile CompressionMetric ContentCriteria ContentItem "
        "ContentSnapshot ContentType ContentView DecisionType ErrorPattern ErrorRecord "
        "Fact Factors HistoryEntry Interaction LinkKind MemoryChanges MemoryLink "
        "MemoryPlace MemoryRecord MemoryType NewMemory Origin Recall RecallRequest RecalledMemory "
        "RouteHit SourceTrail StageContext StageMemory StageType Stored StrategicContext "
        "SummaryLine TaskContext TaskProgress TaskStatus Tier TimeRange Transform "
        "TransformType Trust Weights Why "
    ),
    "waypost.model.context": (
        "ContextEntry ContextItem ContextPackage ContextProfile ContextRequest LearnedSplit "
        "TierSplit"
    ),
    "waypost.model.retention": (
        "Capacity ErasureReport PruneReport RestoreReport RetentionPolicy Strategy "
    ),
    "waypost.retention.archive": "Archive",
    "waypost.stages.compress": "validate_compression_quality",
    "waypost.stages.compressor": "CompressionConfig ContextCompressor",
    "waypost.stages.manager": "StageManager",
    "waypost.stages.tasks": "TaskManager",
    "waypost.tiers.backends": ("InMemoryBackend JsonFileBackend MemoryBackend SqliteItemBackend "),
    "waypost.tiers.global_store": "GlobalMemoryStore",
    "waypost.tiers.project_store": "ProjectMemoryStore",
    "waypost.tiers.task_store": "TaskMemoryStore",
    "waypost.tokens": "count_tokens",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Action",
    "AgentConfiguration",
    "AgentLoop",
    "AgentProfile",
    "Answer",
    "Archive",
    "Capacity",
    "ChatModel",
    "ChatReply",
    "Client",
    "CompressionConfig",
    "CompressionMetric",
    "ContentCriteria",
    "ContentItem",
    "ContentSnapshot",
    "ContentStore",
    "ContentType",
    "ContentView",
    "ContextAssembler",
    "ContextCompressor",
    "ContextEntry",
    "ContextItem",
    "ContextPackage",
    "ContextProfile",
    "ContextRequest",
    "Conversation",
    "DecisionType",
    "Embedder",
    "Engine",
    "ErasureReport",
    "ErrorPattern",
    "ErrorRecord",
    "ErrorTracker",
    "Fact",
    "Factors",
    "GlobalMemoryStore",
    "HistoryEntry",
    "InMemoryBackend",
    "Interaction",
    "JsonFileBackend",
    "LearnedSplit",
    "LinkKind",
    "MemoryBackend",
    "MemoryChanges",
    "MemoryEnabledAgent",
    "MemoryLink",
    "MemoryManager",
    "MemoryPlace",
    "MemoryRecord",
    "MemoryType",
    "NewMemory",
    "Origin",
    "Policy",
    "ProjectMemoryStore",
    "PruneReport",
    "Recall",
    "RecallRequest",
    "RecalledMemory",
    "RestoreReport",
    "RetentionPolicy",
    "RouteHit",
    "RunContext",
    "RunResult",
    "SharedContent",
    "Sharing",
    "SourceTrail",
    "SqliteItemBackend",
    "StageContext",
    "StageManager",
    "StageMemory",
    "StageType",
    "Stored",
    "StrategicContext",
    "Strategist",
    "Strategy",
    "SummaryLine",
    "TaskContext",
    "TaskManager",
    "TaskMemoryStore",
    "TaskProgress",
    "TaskStatus",
    "Tier",
    "TierSplit",
    "TimeRange",
    "Tool",
    "ToolExecutor",
    "Transform",
    "TransformType",
    "Trust",
    "WaypostError",
    "Weights",
    "Why",
    "__version__",
    "chat_model_from_url",
    "count_tokens",
    "embedder_from_url",
    "exceptions",
    "open",
    "reembed",
    "sync",
    "testing",
    "tool",
    "validate_compression_quality",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    if name in _MODULES:
        return import_module(f"waypost.{name}")
    raise AttributeError(f"module 'waypost' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
