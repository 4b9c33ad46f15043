"""Tasks of our own, with what a good summary must have and which errors are the same error.

Three pieces of work as an agent would store them: an incident, a migration, a study. ``must_keep``
are the phrases a colleague who takes over cannot do without; they were written before looking at
any summary. ``errors`` come in families: members of one family are one mistake made again, and
two families of one type are unrelated. ``later`` are the words of a step at which the first error
of a family matters again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.agent_runs import Step
from waypost.model import Action


@dataclass(frozen=True)
class LabelledError:
    family: str
    error_type: str
    description: str
    tool: str | None = None
    context: str = ""
    severity: float | None = None


@dataclass(frozen=True)
class LabelledTask:
    name: str
    goal: str
    steps: tuple[Step, ...]
    pinned: tuple[str, ...]
    must_keep: tuple[str, ...]
    errors: tuple[LabelledError, ...]
    later: dict[str, str] = field(default_factory=dict)


def labelled_tasks() -> list[LabelledTask]:
    return [_incident(), _migration(), _study()]


def _person(text: str) -> Step:
    return Step("", "person", text)


def _agent(text: str, *calls: tuple[str, dict[str, str]]) -> Step:
    actions = tuple(Action(name=name, arguments=dict(values)) for name, values in calls)
    return Step("", "agent", text, actions)


def _tool(text: str) -> Step:
    return Step("", "tool", text)


def _log(lines: int, word: str, *special: str) -> Step:
    rows = [
        f"2026-03-0{1 + i % 5} 10:{i // 60 % 60:02}:{i % 60:02} INFO {word} job={i * 7919 % 99991} "
        f"took {i * 31 % 870} ms on worker-{i % 9}"
        for i in range(lines)
    ]
    return _tool("\n".join([*rows[: lines // 2], *special, *rows[lines // 2 :]]))


def _rows(count: int, form: str) -> Step:
    return _tool("\n".join(form.format(i=i, n=i * 37 % 1009) for i in range(count)))


def _incident() -> LabelledTask:
    steps = (
        _person(
            "Checkout has been slow since Tuesday. Find out why and fix it before Friday noon."
        ),
        _person("You must not restart the payment service between 08:00 and 20:00."),
        _agent("I look at the latency first.", ("query_metrics", {"name": "checkout_p95"})),
        _rows(160, "2026-03-03T{i:04} checkout_p95 {n} ms"),
        _agent("The p95 went from 180 ms to 940 ms on 2026-03-03.", ("read_log", {"app": "pay"})),
        _log(240, "charge ok", "2026-03-03 10:01:12 ERROR PoolTimeout: no free connection in 30 s"),
        _agent("The pool of the service pay-gateway is exhausted: 20 connections, 64 workers."),
        _agent("I try a larger pool.", ("set_config", {"key": "pool_size", "value": "40"})),
        _tool("Error: pool_size 40 exceeds max_connections 30 of database db-7"),
        _agent("We decided to raise max_connections on db-7 to 100 first, then pool_size to 40."),
        _tool("ALTER SYSTEM\npending_restart: true"),
        _agent("The restart of db-7 was booked for 21:30 under change CHG-2214."),
        _log(200, "charge ok"),
        _agent("After the restart the p95 is 175 ms; the fix is confirmed by 3 hours of traffic."),
        _agent("TODO: who owns the alert for pool usage above 80 %?"),
    )
    return LabelledTask(
        "incident",
        "Make checkout fast again",
        steps,
        pinned=("You must not restart the payment service between 08:00 and 20:00.",),
        must_keep=(
            "Friday noon", "08:00", "180 ms", "940 ms", "2026-03-03", "PoolTimeout", "pay-gateway",
            "max_connections", "db-7", "CHG-2214", "21:30", "175 ms", "80 %", "pool_size",
        ),
        errors=(
            LabelledError("pool", "execution", "PoolTimeout: no free connection in 30 s",
                          "charge", "64 workers share one pool", 0.9),
            LabelledError("pool", "execution", "PoolTimeout: no free connection in 45 s",
                          "charge", "64 workers after the deploy", 0.9),
            LabelledError("limit", "execution", "pool_size 40 exceeds max_connections 30",
                          "set_config", "raising the pool", 0.8),
            LabelledError("window", "constraint", "tried to restart pay-gateway at 14:10, inside "
                          "the protected hours", "restart", "daytime restart", 0.95),
        ),
        later={
            "pool": "The charge tool reports timeouts again while many workers are busy.",
            "limit": "I want to give the service a bigger connection pool.",
            "window": "The service hangs. Should I restart pay-gateway now?",
        },
    )  # fmt: skip


def _migration() -> LabelledTask:
    steps = (
        _person("Move the invoices from MySQL 5.7 to Postgres 16 without losing a row."),
        _person("Never drop a source table before finance has signed off."),
        _agent("I count the rows.", ("sql", {"query": "select count(*) from invoices"})),
        _tool("count\n4218330"),
        _agent("There are 4218330 rows, 61 GB. I copy in batches of 50000."),
        _log(
            260, "copied batch", "ERROR duplicate key value violates unique constraint inv_no_key"
        ),
        _agent("Invoice 88-1042 exists twice; we decided to keep the newer one and log the other."),
        _agent("Retry with that rule.", ("copy", {"table": "invoices", "on_conflict": "newer"})),
        _log(260, "copied batch"),
        _tool("copy finished: 4218329 rows, 1 skipped, 47 minutes"),
        _agent("The checksum of both sides matches: md5 9f3ac1. The copy took 47 minutes."),
        _rows(120, "table_{i:03} rows {n} bytes {n}00 ok"),
        _agent("Dana from finance signs off on 2026-04-02; until then the source stays read-only."),
        _agent("Open question: does the tax export still read from MySQL?"),
    )
    return LabelledTask(
        "migration",
        "Move invoices to Postgres 16",
        steps,
        pinned=("Never drop a source table before finance has signed off.",),
        must_keep=(
            "Postgres 16", "4218330", "61 GB", "50000", "inv_no_key", "88-1042", "newer",
            "47 minutes", "9f3ac1", "Dana", "2026-04-02", "read-only", "tax export", "signed off",
        ),
        errors=(
            LabelledError("duplicate", "validation", "duplicate key value violates unique "
                          "constraint inv_no_key, row 1042", "copy", "copying invoices", 0.8),
            LabelledError("duplicate", "validation", "duplicate key value violates unique "
                          "constraint inv_no_key, row 7731", "copy", "copying credit notes", 0.8),
            LabelledError("encoding", "validation", "invalid byte sequence for encoding UTF8: 0xe9",
                          "copy", "copying customer names", 0.8),
            LabelledError("lost", "logic", "data loss: the first copy skipped 12 rows with a null "
                          "date and reported success", "copy", "rows without a date", 1.0),
        ),
        later={
            "duplicate": "Next I copy another table in batches with the copy tool.",
            "encoding": "The customer names have accents; I copy them now.",
            "lost": "The copy reports success for the rows without a date.",
        },
    )  # fmt: skip


def _study() -> LabelledTask:
    steps = (
        _person("Compare the three battery suppliers and recommend one for the depot in Basel."),
        _person("The budget is 250000 francs and delivery must be no later than 2026-09-15."),
        _agent("I look for their data sheets.", ("search", {"query": "LFP battery 500 kWh"})),
        _rows(90, "{i}. https://example.org/battery/{n} LFP container, capacity, warranty, price"),
        _agent("", ("open_page", {"url": "https://example.org/battery/norvolt"})),
        _tool(
            "Norvolt N500\nCapacity 512 kWh\nPrice 231000 CHF\nWarranty 12 years\n"
            + "Cookies " * 300
        ),
        _agent("", ("open_page", {"url": "https://example.org/battery/accura"})),
        _tool("403 Forbidden"),
        _agent("The page of Accura is closed to robots, so I ask for the sheet by mail."),
        _tool("Accura A5: 498 kWh, 219500 CHF, 10 years, delivery 2026-10-01"),
        _agent("Accura delivers on 2026-10-01, which is too late; it is out."),
        _tool("Helio H2: 505 kWh, 268000 CHF, 15 years, delivery 2026-08-20"),
        _agent("Helio costs 268000 francs and breaks the budget, so we chose Norvolt N500."),
        _agent("It is 512 kWh for 231000 francs with 12 years of warranty, delivery 2026-08-30."),
        _agent("TODO: confirm with the fire brigade that the yard allows containers."),
    )
    return LabelledTask(
        "study",
        "Choose a battery supplier",
        steps,
        pinned=("The budget is 250000 francs and delivery must be no later than 2026-09-15.",),
        must_keep=(
            "250000", "2026-09-15", "Basel", "Norvolt", "512 kWh", "231000", "12 years",
            "2026-08-30", "Accura", "2026-10-01", "Helio", "268000", "fire brigade",
        ),
        errors=(
            LabelledError("forbidden", "execution", "403 Forbidden when opening the page of Accura",
                          "open_page", "reading a supplier's page", 0.8),
            LabelledError("forbidden", "execution", "403 Forbidden when opening the page of Helio",
                          "open_page", "reading a supplier's page", 0.8),
            LabelledError("empty", "execution", "the search returned no results",
                          "search", "searching with a very long query", 0.8),
            LabelledError("unit", "logic", "compared kWh with MWh and ranked the smallest battery "
                          "first; wrong answer", None, "ranking by capacity", 0.9),
        ),
        later={
            "forbidden": "I open the page of the next supplier.",
            "empty": "I search with a long and exact query.",
            "unit": "Now I rank the batteries by capacity.",
        },
    )  # fmt: skip
