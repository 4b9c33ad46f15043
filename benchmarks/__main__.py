"""Runs every benchmark, one after the other: ``make bench``.

    python -m benchmarks [NAME ...]

The data sets are looked for below ``DATA`` (an environment variable; by default
``../shared/data``). A benchmark without its data is left out, and said so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DATA = Path(os.environ.get("DATA", "../shared/data"))


@dataclass(frozen=True)
class Benchmark:
    name: str
    module: str
    arguments: tuple[str, ...] = ()
    data: Path | None = None

    @property
    def command(self) -> list[str]:
        named = ("--data", str(self.data)) if self.data else ()
        return [sys.executable, "-m", f"benchmarks.{self.module}", *self.arguments, *named]


LOCOMO = DATA / "locomo" / "locomo_dev.json.xz"
LONGMEMEVAL = DATA / "longmemeval" / "longmemeval_s_dev.json.xz"

BENCHMARKS = (
    Benchmark("footprint", "footprint"),
    Benchmark("locomo", "retrieval", ("--dataset", "locomo"), LOCOMO),
    Benchmark("longmemeval", "retrieval", ("--dataset", "longmemeval"), LONGMEMEVAL),
    Benchmark("labelled", "labelled"),
    Benchmark("speed", "speed", ("--n", "100000")),
    Benchmark("context", "context", data=DATA),
    Benchmark("compression", "compression", data=DATA),
    Benchmark("local-model", "compression", ("--local-model", "--every", "40"), DATA),
    Benchmark("errors", "errors", data=DATA),
    Benchmark("content", "content", data=DATA),
    Benchmark("tasks", "tasks"),
    Benchmark("load", "load"),
)


def main(names: Sequence[str]) -> int:
    known = {benchmark.name for benchmark in BENCHMARKS}
    if unknown := sorted(set(names) - known):
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(sorted(known))}")
        return 2
    chosen = [benchmark for benchmark in BENCHMARKS if not names or benchmark.name in names]
    return max((run(benchmark) for benchmark in chosen), default=0)


def run(benchmark: Benchmark) -> int:
    print(f"\n== {benchmark.name}: {' '.join(benchmark.command[1:])}", flush=True)
    if benchmark.data is not None and not benchmark.data.exists():
        print(f"left out: {benchmark.data} is not there; set DATA to where the data sets are")
        return 0
    return subprocess.run(benchmark.command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
