"""From a recall request to the condition that its memories must meet. Pure."""

from __future__ import annotations

from typing import Any

from waypost.filters import Condition, parse_where
from waypost.filters.memory_fields import MEMORY_FIELDS
from waypost.model import RecallRequest


def condition(request: RecallRequest) -> Condition | None:
    """The request's filters as one condition, None when it asks for everything."""
    parts = [*_plain(request), *_lists(request), *_times(request)]
    if request.where:
        parts.append(request.where)
    return parse_where({"$and": parts}, MEMORY_FIELDS) if parts else None


def _plain(request: RecallRequest) -> list[dict[str, Any]]:
    names = ("task_id", "project_id", "run_id", "stage_id")
    parts = [{name: value} for name in names if (value := getattr(request, name)) is not None]
    if request.tier is not None:
        parts.append({"tier": request.tier.value})
    return parts


def _lists(request: RecallRequest) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if request.types:
        parts.append({"type": {"$in": [type_.value for type_ in request.types]}})
    if request.kinds:
        parts.append({"kind": {"$in": list(request.kinds)}})
    for name in ("entities", "keywords", "tags"):
        if wanted := getattr(request, name):
            parts.append({name: list(wanted)})
    return parts


def _times(request: RecallRequest) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if request.time_range is not None and request.time_range.start is not None:
        parts.append({"timestamp": {"$gte": request.time_range.start}})
    if request.time_range is not None and request.time_range.end is not None:
        parts.append({"timestamp": {"$lt": request.time_range.end}})
    if request.as_of is not None:
        parts.append({"valid_from": {"$lte": request.as_of}})
        held = {"valid_to": {"$gt": request.as_of}}
        parts.append({"$or": [{"valid_to": {"$exists": False}}, held]})
    return parts
