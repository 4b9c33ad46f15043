"""Moving a database to another embedder while it is read and written.

New vectors are added beside the old ones, portion by portion; an interrupted move
goes on where it stopped. When every memory has one, one transaction switches the
active embedder and drops the old vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from sqlalchemy import Connection, func, insert, select

from waypost.embed.port import Embedder, Vectors
from waypost.store import vectors
from waypost.store.database import Database
from waypost.store.tables import embeddings, jobs, memories
from waypost.store.vectors import Unembedded
from waypost.write.prepare import embedded_text

PORTION = 256

Progress = Callable[[int, int], None]


async def move_vectors(
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
    await database.index_vectors(embedder.name, embedder.dimension)
    total = await database.read(_total)
    made = 0
    while True:
        made += await _fill(database, embedder, total, progress)
        if await database.write(_switch, embedder.name):
            await database.index_vectors(embedder.name, embedder.dimension, alone=True)
            return made


async def _fill(database: Database, embedder: Embedder, total: int, progress: Progress) -> int:
    after, made = 0, 0
    before = await database.read(_done, embedder.name)
    while portion := await database.read(vectors.without_vector, embedder.name, after, PORTION):
        texts = [embedded_text(item.content, item.source, item.timestamp) for item in portion]
        rows = await embedder.embed_documents(texts)
        by_row = {item.row_id: vector for item, vector in zip(portion, rows, strict=True)}
        made += await database.write(_add, embedder.name, by_row, portion)
        after = portion[-1].row_id
        progress(before + made, max(total, before + made))
    return made


def _register(connection: Connection, embedder: Embedder, now: datetime) -> None:
    vectors.register_embedder(connection, embedder.name, embedder.dimension, active=False, now=now)


def _total(connection: Connection) -> int:
    return int(connection.execute(select(func.count()).select_from(memories)).scalar_one())


def _done(connection: Connection, embedder: str) -> int:
    statement = select(func.count()).select_from(embeddings)
    return int(connection.execute(statement.where(embeddings.c.embedder == embedder)).scalar_one())


def _add(
    connection: Connection, embedder: str, made: Mapping[int, Vectors], portion: list[Unembedded]
) -> int:
    """Keep the vectors of memories that still say what was embedded and have none yet."""
    ids = [item.row_id for item in portion]
    unchanged = dict(
        connection.execute(
            select(memories.c.row_id, memories.c.version).where(memories.c.row_id.in_(ids))
        ).all()
    )
    taken = set(
        connection.execute(
            select(embeddings.c.row_id).where(
                embeddings.c.row_id.in_(ids), embeddings.c.embedder == embedder
            )
        ).scalars()
    )
    rows = [
        {"row_id": item.row_id, "embedder": embedder, "agent_id": item.agent_id,
         "vector": made[item.row_id]}
        for item in portion
        if unchanged.get(item.row_id) == item.version and item.row_id not in taken
    ]  # fmt: skip
    if rows:
        connection.execute(insert(embeddings), rows)
    return len(rows)


def _switch(connection: Connection, embedder: str) -> bool:
    """Make the embedder the active one, unless memories arrived that it has not seen."""
    vectors.hold_embedders(connection)
    if vectors.without_vector(connection, embedder, 0, 1):
        return False
    vectors.activate_embedder(connection, embedder)
    connection.execute(jobs.delete().where(jobs.c.kind == vectors.EMBED))
    return True
