"""The context benchmark on made-up conversations in the public formats."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent


def turn(number: int, text: str) -> dict[str, str]:
    return {"dia_id": f"D1:{number}", "speaker": "Ann", "text": text}


def conversation() -> dict[str, Any]:
    lines = [f"On day {n} the kiln was at {n * 10} degrees." for n in range(1, 30)]
    return {
        "conversation": {
            "session_1": [turn(n, line) for n, line in enumerate(lines, 1)],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
        },
        "qa": [
            {"question": "How hot was the kiln on day 7?", "evidence": ["D1:7"], "category": 4},
            {"question": "Never said?", "evidence": ["D1:1"], "category": 5},
        ],
    }


def run(data: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.context", "--data", str(data), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_last_line_is_the_result_and_a_missing_set_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "locomo").mkdir()
    with lzma.open(tmp_path / "locomo" / "any name.json.xz", "wt") as file:
        json.dump([conversation()], file)
    done = run(tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    assert "longmemeval: left out" in done.stdout
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures.keys() == {"curve", "baselines", "over_budget", "format_ms", "reduction"}
    assert figures["curve"] == {"500": 1.0, "1000": 1.0, "2000": 1.0, "4000": 1.0}
    assert figures["baselines"].keys() == {"newest_first", "plain_top_k", "full_history"}
    assert figures["over_budget"] == 0


def test_no_data_at_all_is_said(tmp_path: Path) -> None:
    done = run(tmp_path, "--json")
    assert done.returncode != 0
    assert "no data below" in done.stderr
