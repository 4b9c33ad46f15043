"""The profile that an agent keeps beside its memories; the default one until it is set."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from waypost.model.profile import AgentProfile
from waypost.store.tables import agents


def read(connection: Connection, agent_id: str) -> AgentProfile:
    stored = connection.execute(
        select(agents.c.profile).where(agents.c.agent_id == agent_id)
    ).scalar()
    return from_stored(stored)


def from_stored(stored: Mapping[str, Any] | None) -> AgentProfile:
    return AgentProfile.model_validate(stored or {})


def change(
    connection: Connection, agent_id: str, changes: Mapping[str, Any], now: datetime
) -> AgentProfile:
    """Set some parts of the profile; the others stay as they are."""
    profile = read(connection, agent_id).model_copy(update=dict(changes))
    values = {"profile": profile.model_dump(mode="json", by_alias=True), "updated_at": now}
    own = agents.c.agent_id == agent_id
    if not connection.execute(update(agents).where(own).values(**values)).rowcount:
        connection.execute(insert(agents).values(agent_id=agent_id, created_at=now, **values))
    return profile
