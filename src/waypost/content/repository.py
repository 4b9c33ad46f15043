"""Content items in the database. Every function names the agent it acts for.

A cleared item is hidden from reading and searching but kept, because what a model once saw must
stay open to audit; ``delete_run`` removes a run and every chunk that nothing else needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, insert, select, update

from waypost.content import blobs
from waypost.content.identifiers import content_id
from waypost.exceptions import NotFound
from waypost.model import ContentCriteria, ContentItem
from waypost.store.tables import content_blobs, content_items, run_events, runs

_HIDDEN = frozenset({"number", "cleared_at"})


def add(connection: Connection, item: dict[str, Any], spool: blobs.Spool) -> ContentItem:
    """Store one item and its content; the id is minted here, from its number in the run."""
    agent_id, run_id = item["agent_id"], item["run_id"]
    number = _next_number(connection, agent_id, run_id)
    row = item | {"number": number, "content_id": content_id(run_id, number), "cleared_at": None}
    blobs.put(connection, agent_id, spool)
    connection.execute(insert(content_items).values(row))
    return _item(row)


def _next_number(connection: Connection, agent_id: str, run_id: str) -> int:
    if connection.dialect.name == "postgresql":
        key = func.hashtext(f"content:{agent_id}:{run_id}")
        connection.execute(select(func.pg_advisory_xact_lock(key)))
    last = connection.execute(
        select(func.max(content_items.c.number)).where(*_in_run(agent_id, run_id))
    ).scalar()
    return 0 if last is None else int(last) + 1


def _in_run(agent_id: str, run_id: str) -> tuple[Any, Any]:
    return content_items.c.agent_id == agent_id, content_items.c.run_id == run_id


def _live(agent_id: str, run_id: str | None) -> Select[Any]:
    query = select(content_items).where(
        content_items.c.agent_id == agent_id, content_items.c.cleared_at.is_(None)
    )
    return query if run_id is None else query.where(content_items.c.run_id == run_id)


def get(
    connection: Connection, agent_id: str, run_id: str | None, wanted: str, *, cleared: bool = False
) -> ContentItem:
    """One item; without a run, the newest of that id. NotFound names ids that do exist."""
    query = _live(agent_id, run_id)
    if cleared:
        query = select(content_items).where(*_in_run(agent_id, run_id or ""))
    row = connection.execute(
        query.where(content_items.c.content_id == wanted)
        .order_by(content_items.c.created_at.desc())
        .limit(1)
    ).first()
    if row is None:
        known = [item.content_id for item in newest(connection, agent_id, run_id, 5)]
        hint = f"the newest are {', '.join(known)}" if known else "nothing is stored here"
        raise NotFound(f"no content {wanted} in this run; {hint}", content_id=wanted)
    return _of_row(row)


def newest(
    connection: Connection, agent_id: str, run_id: str | None, limit: int
) -> list[ContentItem]:
    query = _live(agent_id, run_id).order_by(
        content_items.c.created_at.desc(), content_items.c.number.desc()
    )
    return [_of_row(row) for row in connection.execute(query.limit(limit))]


def find(
    connection: Connection, agent_id: str, run_id: str | None, criteria: ContentCriteria
) -> list[ContentItem]:
    """Items that meet all criteria, newest first."""
    query = _live(agent_id, criteria.run_id or run_id)
    if criteria.type is not None:
        query = query.where(content_items.c.type == criteria.type.value)
    if criteria.source is not None:
        query = query.where(content_items.c.source == criteria.source)
    if criteria.other_than:
        query = query.where(content_items.c.source.not_in(criteria.other_than))
    if criteria.since is not None:
        query = query.where(content_items.c.created_at >= criteria.since)
    if criteria.until is not None:
        query = query.where(content_items.c.created_at < criteria.until)
    ordered = query.order_by(content_items.c.created_at.desc(), content_items.c.number.desc())
    wanted = set(criteria.tags)
    if not wanted and criteria.text is None:
        ordered = ordered.limit(criteria.limit)
    rows = connection.execute(ordered).all()
    items = (_of_row(row) for row in rows if wanted <= set(row.tags))
    found = items if criteria.text is None else _with_text(connection, items, criteria.text)
    return [item for item, _ in zip(found, range(criteria.limit), strict=False)]


def _with_text(
    connection: Connection, items: Iterable[ContentItem], text: str
) -> Iterator[ContentItem]:
    """Items in which every word occurs, in the content, title, source or tags."""
    words = set(text.casefold().split())
    for item in items:
        described = " ".join(filter(None, (item.title, item.source, *item.tags, item.content_id)))
        missing = {word for word in words if word not in described.casefold()}
        if not missing or _holds(connection, item, missing):
            yield item


def _holds(connection: Connection, item: ContentItem, words: set[str]) -> bool:
    if item.characters is None:
        return False
    missing, longest, held = set(words), max(map(len, words)), ""
    for piece in blobs.as_text(blobs.chunks_of(connection, item.agent_id, item.digest)):
        window = (held + piece).casefold()
        missing = {word for word in missing if word not in window}
        if not missing:
            return True
        held = piece[-longest:]
    return False


def clear(connection: Connection, agent_id: str, run_id: str, now: datetime) -> int:
    """Hide every item of a run; returns how many."""
    changed = connection.execute(
        update(content_items)
        .where(*_in_run(agent_id, run_id), content_items.c.cleared_at.is_(None))
        .values(cleared_at=now)
    )
    return int(changed.rowcount)


def restore(
    connection: Connection, agent_id: str, run_id: str, items: Sequence[ContentItem], now: datetime
) -> None:
    """Make a run hold exactly these items, under their own ids."""
    clear(connection, agent_id, run_id, now)
    adopt(connection, agent_id, run_id, items)


def adopt(
    connection: Connection, agent_id: str, run_id: str, items: Sequence[ContentItem]
) -> dict[str, str]:
    """Put items of another run into this one; returns the old and new ids of those added.

    An id stays the same unless this run already uses it for other content.
    """
    added: dict[str, str] = {}
    for item in items:
        known = connection.execute(
            update(content_items)
            .where(
                *_in_run(agent_id, run_id),
                content_items.c.content_id == item.content_id,
                content_items.c.digest == item.digest,
            )
            .values(cleared_at=None)
        )
        if known.rowcount == 0:
            number = _next_number(connection, agent_id, run_id)
            row = _values(item) | {"agent_id": agent_id, "run_id": run_id, "number": number}
            row["content_id"] = _free_id(connection, agent_id, run_id, item.content_id, number)
            connection.execute(insert(content_items).values(row | {"cleared_at": None}))
            added[item.content_id] = row["content_id"]
    return added


def _free_id(connection: Connection, agent_id: str, run_id: str, wanted: str, number: int) -> str:
    taken = connection.execute(
        select(content_items.c.number).where(
            *_in_run(agent_id, run_id), content_items.c.content_id == wanted
        )
    ).first()
    return wanted if taken is None else content_id(run_id, number)


def mark_shown(
    connection: Connection, agent_id: str, run_id: str, ids: Sequence[str], step: int
) -> None:
    """Note the step at which items were first shown; a later step changes nothing."""
    connection.execute(
        update(content_items)
        .where(
            *_in_run(agent_id, run_id),
            content_items.c.content_id.in_(ids),
            content_items.c.first_shown_step.is_(None),
        )
        .values(first_shown_step=step)
    )


def delete_run(connection: Connection, agent_id: str, run_id: str) -> None:
    """Remove a run with its items and events, and every chunk that nothing else needs."""
    for table in (content_items, run_events, runs):
        connection.execute(
            delete(table).where(table.c.agent_id == agent_id, table.c.run_id == run_id)
        )
    drop_unneeded_chunks(connection, agent_id)


def drop_unneeded_chunks(connection: Connection, agent_id: str) -> None:
    """Delete the chunks that no item and no recorded prompt of the agent refers to."""
    needed = set(
        connection.scalars(
            select(content_items.c.digest).where(content_items.c.agent_id == agent_id)
        )
    )
    for payload in connection.scalars(
        select(run_events.c.payload).where(run_events.c.agent_id == agent_id)
    ):
        needed.update(payload.get("digests", ()))
    stored = connection.scalars(
        select(content_blobs.c.digest).where(content_blobs.c.agent_id == agent_id).distinct()
    ).all()
    for digest in sorted(set(stored) - needed):
        connection.execute(
            delete(content_blobs).where(
                content_blobs.c.agent_id == agent_id, content_blobs.c.digest == digest
            )
        )


def _of_row(row: Row[Any]) -> ContentItem:
    return _item(dict(row._mapping))


def _item(values: dict[str, Any]) -> ContentItem:
    return ContentItem.model_validate({k: v for k, v in values.items() if k not in _HIDDEN})


def _values(item: ContentItem) -> dict[str, Any]:
    values = item.model_dump()
    return values | {
        "type": item.type.value,
        "trust": item.trust.value,
        "tags": list(item.tags),
        "related_to": list(item.related_to),
    }
