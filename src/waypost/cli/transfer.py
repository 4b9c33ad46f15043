"""Commands that move memories in and out as JSON lines: import, export.

A line is what ``add_memory`` or ``add_interaction`` take, or what export wrote; files of
other programs are read by ``formats``.
Every line gets an idempotency key from its own bytes unless it brings one, so an
import that was interrupted is simply run again: what is there stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from waypost.cli.formats import Format, entries
from waypost.cli.options import Agent, Url
from waypost.cli.output import messages, progress, results
from waypost.cli.session import with_memory
from waypost.exceptions import Conflict, InvalidInput, WaypostError

if TYPE_CHECKING:
    from waypost.memory import MemoryManager
    from waypost.model import Interaction, MemoryRecord, NewMemory, Stored

BATCH = 1000
SHOWN_PROBLEMS = 20
REFUSALS = (InvalidInput, Conflict)


def register(app: typer.Typer) -> None:
    app.command("import")(import_file)
    app.command("export")(export_file)


def import_file(
    file: Annotated[Path, typer.Argument(help="File of JSON lines; - reads stdin.")],
    format_: Annotated[
        Format,
        typer.Option("--format", help="Whose file it is: ours, or another program's."),
    ] = Format.WAYPOST,
    strict: Annotated[
        bool, typer.Option(help="Stop at the first bad line instead of skipping it.")
    ] = False,
    url: Url = None,
    agent: Agent = None,
) -> None:
    """Remember every line of a JSONL file. Running it again adds nothing twice."""
    if not is_stream(file) and not file.is_file():
        raise InvalidInput(f"there is no file {file}")

    async def work(memory: MemoryManager) -> Tally:
        importer = Importer(memory, strict=strict)
        with progress() as bars, input_from(file) as lines:
            bar = bars.add_task("importing", total=count_lines(file))
            for number, item in read_items(lines, format_, str(file)):
                await importer.add(number, item)
                bars.advance(bar)
            await importer.flush()
        return importer.tally

    tally = with_memory(work, url=url, agent=agent, creates=True)
    for problem in tally.problems[:SHOWN_PROBLEMS]:
        messages().print(f"{file}:{problem}", markup=False, soft_wrap=True)
    if len(tally.problems) > SHOWN_PROBLEMS:
        messages().print(f"… and {len(tally.problems) - SHOWN_PROBLEMS} more bad lines")
    results().print(
        f"{tally.stored:,} remembered, {tally.known:,} known already, "
        f"{len(tally.problems):,} skipped"
    )
    if tally.problems:
        raise SystemExit(2)


@dataclass
class Tally:
    """What became of the lines of an import."""

    stored: int = 0
    known: int = 0
    problems: list[str] = field(default_factory=list)

    def count(self, receipts: Sequence[Stored]) -> None:
        repeated = sum(receipt.duplicate for receipt in receipts)
        self.known += repeated
        self.stored += len(receipts) - repeated


class Importer:
    """Remembers lines in order, in batches; bad ones are counted, or raised when strict."""

    def __init__(self, memory: MemoryManager, *, strict: bool = False) -> None:
        self.tally = Tally()
        self._memory = memory
        self._strict = strict
        self._pending: list[tuple[int, NewMemory]] = []

    async def add(self, number: int, read: Callable[[], NewMemory | Interaction | None]) -> None:
        """Take one entry; it is stored by the next full batch or by ``flush``."""
        from waypost.model import Interaction, NewMemory

        try:
            item = read()
        except InvalidInput as error:
            return self._refuse(number, error)
        if isinstance(item, NewMemory):
            self._pending.append((number, item))
        if len(self._pending) >= BATCH or isinstance(item, Interaction):
            await self.flush()
        if isinstance(item, Interaction):
            await self._store_interaction(number, item)
        return None

    async def flush(self) -> None:
        """Store what is pending; when it is refused as a whole, find the line to blame."""
        pending, self._pending = self._pending, []
        try:
            self.tally.count(await self._memory.add_memories([item for _, item in pending]))
        except REFUSALS:
            for number, item in pending:
                await self._store_one(number, item)

    async def _store_one(self, number: int, item: NewMemory) -> None:
        try:
            self.tally.count([await self._memory.add_memory(item)])
        except REFUSALS as error:
            self._refuse(number, error)

    async def _store_interaction(self, number: int, item: Interaction) -> None:
        try:
            self.tally.count([await self._memory.add_interaction(item)])
        except REFUSALS as error:
            self._refuse(number, error)

    def _refuse(self, number: int, error: WaypostError) -> None:
        if self._strict:
            raise InvalidInput(f"line {number}: {error.message}", line=number) from None
        self.tally.problems.append(f"{number}: {error.message}")


def read_items(
    lines: IO[str], format_: Format, name: str
) -> Iterator[tuple[int, Callable[[], NewMemory | Interaction | None]]]:
    """Each entry of a file, still to be parsed, so that a bad one does not end the import."""
    if format_ is Format.WAYPOST:
        for number, line in enumerate(lines, start=1):
            yield number, partial(parse_line, line)
        return
    for number, values in entries(lines, format_, name):
        yield number, partial(parse_values, values, json.dumps(values, sort_keys=True, default=str))


def parse_line(line: str) -> NewMemory | Interaction | None:
    """One line as what it asks to remember; None when it is blank."""
    if not line.strip():
        return None
    try:
        values = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"not JSON: {error}") from None
    if not isinstance(values, dict) or not {"content", "query"} & values.keys():
        raise InvalidInput('a line is an object with "content", or with "query" and "response"')
    return parse_values(values, line.strip())


def parse_values(values: dict[str, Any], text: str) -> NewMemory | Interaction:
    """What an entry asks to remember; ``text`` is what makes it the same entry next time."""
    from waypost.model import Interaction, NewMemory
    from waypost.validation import checked

    digest = hashlib.sha256(text.encode()).hexdigest()
    values.setdefault("idempotency_key", f"import:{digest}")
    if "query" in values:
        return checked(Interaction, values)
    return checked(NewMemory, from_export(values) if "memory_id" in values else values)


def from_export(values: dict[str, Any]) -> dict[str, Any]:
    """An exported record as input: the old id moves to the metadata, old links are dropped."""
    from waypost.model import MemoryRecord, NewMemory

    only_in_exports = MemoryRecord.model_fields.keys() - NewMemory.model_fields.keys()
    kept = {name: value for name, value in values.items() if name not in only_in_exports}
    metadata = {**(values.get("metadata") or {}), "imported_id": values["memory_id"]}
    return {**kept, "metadata": metadata, "links": (), "stage_id": None, "embedding": None}


def is_stream(file: Path) -> bool:
    return str(file) == "-"


def input_from(file: Path) -> AbstractContextManager[IO[str]]:
    if is_stream(file):
        return nullcontext(sys.stdin)
    return file.open(encoding="utf-8", errors="replace")


def count_lines(file: Path) -> int | None:
    if is_stream(file):
        return None
    with file.open("rb") as content:
        return sum(block.count(b"\n") for block in iter(lambda: content.read(1 << 20), b""))


def export_file(
    file: Annotated[
        Path | None,
        typer.Argument(help="Where to write; - or nothing is stdout.", show_default=False),
    ] = None,
    url: Url = None,
    agent: Agent = None,
) -> None:
    """Write every memory of an agent as JSON lines, oldest first."""

    async def work(memory: MemoryManager) -> int:
        total = await memory.count_memories()
        with progress() as bars, output_to(file) as output:
            bar = bars.add_task("exporting", total=total)
            async for record in every_memory(memory):
                output.write(export_line(record))
                bars.advance(bar)
        return total

    total = with_memory(work, url=url, agent=agent)
    if file is not None and not is_stream(file):
        noun = "memory" if total == 1 else "memories"
        results().print(f"{total:,} {noun} written to {file}", soft_wrap=True)


def output_to(file: Path | None) -> AbstractContextManager[IO[str]]:
    """The file, written aside and moved into place when complete; or stdout."""
    return nullcontext(sys.stdout) if file is None or is_stream(file) else CompleteFile(file)


class CompleteFile:
    """A text file that appears under its name only when it was written to the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._aside = path.with_name(path.name + ".part")

    def __enter__(self) -> IO[str]:
        try:
            self._file = self._aside.open("w", encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"{self._path} cannot be written: {error.strerror}") from None
        return self._file

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        if kind is None:
            self._aside.replace(self._path)
        else:
            self._aside.unlink()


def export_line(record: MemoryRecord) -> str:
    values = record.model_dump(mode="json", exclude={"embedding"}, exclude_none=True)
    return json.dumps(values, ensure_ascii=False) + "\n"


async def every_memory(memory: MemoryManager) -> AsyncIterator[MemoryRecord]:
    """All memories in the order they were stored, a page at a time."""
    last = "00000000-0000-0000-0000-000000000000"
    while page := await memory.list_memories(
        {"memory_id": {"$gt": last}}, order_by="-memory_id", limit=BATCH
    ):
        for record in page:
            yield record
        last = page[-1].memory_id
