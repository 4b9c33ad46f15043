"""Moving a database to another embedder while it is read and written.

New vectors are added beside the old ones, portion by portion; an interrupted move
goes on where it stopped. When every memory has one, one transaction switches the
active embedder and drops the old vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Connection, func, insert, select

from waypost.embed.port import Embedder
from waypost.store import vectors
from waypost.store.database import Database
from waypost.store.tables import embeddings, jobs, memories
from waypost.write.prepare import embedded_text

PORTION = 256

Progress = Callable[[int, int], None]


async def reembed(
    database: Database,
    embedder: Embedder,
    *,
    now: Callable[[], datetime],
    progress: Progress = lambda done, total: None,
) -> int:
    """Give every memory a vector of ``embedder`` and make it the active one.

    Returns how many vectors were made. Raises ProviderError when the embedder fails;
    what was made until then is kept and not made again.
    """
    await database.write(_register, embedder, now())
    total = await database.read(_total)
    made = 0
    while True:
        made += await _fill(database, embedder, total, progress)
        if await database.write(_switch, embedder.name):
            return made


async def _fill(database: Database, embedder: Embedder, total: int, progress: Progress) -> int:
    after, made = 0, 0
    while portion := await database.read(vectors.without_vector, embedder.name, after, PORTION):
        texts = [embedded_text(item.content, item.source, item.timestamp) for item in portion]
        rows = [
            {"row_id": item.row_id, "embedder": embedder.name, "agent_id": item.agent_id,
             "vector": vector}
            for item, vector in zip(portion, await embedder.embed_documents(texts), strict=True)
        ]  # fmt: skip
        made += await database.write(_add, rows)
        after = portion[-1].row_id
        done = await database.read(_done, embedder.name)
        progress(done, max(total, done))
    return made


def _register(connection: Connection, embedder: Embedder, now: datetime) -> None:
    vectors.register_embedder(connection, embedder.name, embedder.dimension, active=False, now=now)


def _total(connection: Connection) -> int:
    return int(connection.execute(select(func.count()).select_from(memories)).scalar_one())


def _done(connection: Connection, embedder: str) -> int:
    statement = select(func.count()).select_from(embeddings)
    return int(connection.execute(statement.where(embeddings.c.embedder == embedder)).scalar_one())


def _add(connection: Connection, rows: list[dict[str, object]]) -> int:
    """Insert vectors of memories that still exist and have none of this embedder yet."""
    ids = [row["row_id"] for row in rows]
    alive = set(
        connection.execute(select(memories.c.row_id).where(memories.c.row_id.in_(ids))).scalars()
    )
    taken = set(
        connection.execute(
            select(embeddings.c.row_id).where(
                embeddings.c.row_id.in_(ids), embeddings.c.embedder == rows[0]["embedder"]
            )
        ).scalars()
    )
    wanted = [row for row in rows if row["row_id"] in alive - taken]
    if wanted:
        connection.execute(insert(embeddings), wanted)
    return len(wanted)


def _switch(connection: Connection, embedder: str) -> bool:
    """Make the embedder the active one, unless memories arrived that it has not seen."""
    if vectors.without_vector(connection, embedder, 0, 1):
        return False
    vectors.activate_embedder(connection, embedder)
    connection.execute(jobs.delete().where(jobs.c.kind == vectors.EMBED))
    return True
