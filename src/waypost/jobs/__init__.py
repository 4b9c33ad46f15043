"""Background jobs: asked for in a transaction, done once, by whichever worker comes first.

``asking`` is what an agent sees: ask for a job, look at it, wait for it. ``performer``
does one job and records what came of it. ``embedded`` runs jobs inside the process
that owns a SQLite file; ``queued`` runs them from procrastinate's queue in PostgreSQL,
shared by all workers.

A worker may die in the middle of a job, and then another one does it again. So each
step is written to be repeated: doing it twice has the effect of doing it once.
"""
