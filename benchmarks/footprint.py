"""How much disk the core install takes, and how long ``import waypost`` takes.

    python -m benchmarks.footprint [--json]

Installs the locked core requirements and the project's wheel into a fresh
environment that has nothing else in it (no pip), and adds up the files there.
Bytecode is counted apart, since installers differ in whether they write it.
The import is timed in new processes, against the same processes importing
nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
UV = Path(sys.executable).parent / "uv"
RUNS = 9
LISTED_PACKAGES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        python = install_core(Path(directory))
        result = {**sizes(site_packages(python)), **import_times(python)}
    print_result(result)
    if arguments.json:
        print(json.dumps(result))


def install_core(directory: Path) -> Path:
    venv.create(directory / "core", with_pip=False, symlinks=True)
    python = directory / "core" / "bin" / "python"
    install = [str(UV), "pip", "install", "--quiet", "--python", str(python)]
    requirements = ROOT / "requirements" / "core.txt"
    run([*install, "--require-hashes", "-r", str(requirements)])
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    run(build)
    (wheel,) = directory.glob("*.whl")
    run([*install, "--no-deps", str(wheel)])
    return python


def run(command: list[str]) -> None:
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def site_packages(python: Path) -> Path:
    (found,) = python.parent.parent.glob("lib/python*/site-packages")
    return found


def sizes(directory: Path) -> dict[str, Any]:
    """Megabytes (10**6 bytes) of everything installed, by top-level name, largest first."""
    by_name: dict[str, int] = {}
    for path in directory.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            top = path.relative_to(directory).parts[0].removesuffix(".libs").split(".")[0]
            by_name[top] = by_name.get(top, 0) + path.stat().st_size
    largest = sorted(by_name.items(), key=lambda item: -item[1])[:LISTED_PACKAGES]
    run([sys.executable, "-m", "compileall", "-q", str(directory)])
    bytecode = sum(path.stat().st_size for path in directory.rglob("*.pyc"))
    return {
        "installed_mb": megabytes(sum(by_name.values())),
        "bytecode_mb": megabytes(bytecode),
        "largest_mb": {name: megabytes(size) for name, size in largest},
    }


def megabytes(size: int) -> float:
    return round(size / 1e6, 1)


def import_times(python: Path) -> dict[str, Any]:
    nothing = median_seconds(python, "pass")
    count = "import sys, waypost; print(len(sys.modules))"
    modules = subprocess.run([python, "-c", count], check=True, capture_output=True, text=True)
    return {
        "import_ms": round(1000 * (median_seconds(python, "import waypost") - nothing), 1),
        "python_start_ms": round(1000 * nothing, 1),
        "modules_after_import": int(modules.stdout),
    }


def median_seconds(python: Path, code: str) -> float:
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([python, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def print_result(result: dict[str, Any]) -> None:
    print(
        f"core install   {result['installed_mb']:8.1f} MB, bytecode {result['bytecode_mb']:.1f} MB"
    )
    for name, size in result["largest_mb"].items():
        print(f"    {name:<16}{size:6.1f}")
    print(f"import waypost {result['import_ms']:8.1f} ms above an empty Python")
    print(f"    {result['modules_after_import']} modules are loaded afterwards")


if __name__ == "__main__":
    main()
