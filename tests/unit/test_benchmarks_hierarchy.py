"""The compression and error benchmarks read any folder of the public layout and end in JSON."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compression, errors


def span(name: str, kind: str, **attributes: Any) -> dict[str, Any]:
    values = {"openinference.span.kind": kind, **attributes}
    return {"span_id": name, "span_attributes": values, "status_message": "", "child_spans": []}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Made-up runs in the public formats; SWE-agent and the conversations are missing."""
    told = [
        {"role": "user", "content": "Please cancel order W42, I ordered it twice."},
        {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "cancel", "arguments": '{"order_id": "W42"}'}}]},
        {"role": "tool", "content": json.dumps([{"id": f"W{i}", "total": i} for i in range(60)])},
        {"role": "tool", "content": "Error: order W42 was shipped"},
        {"role": "assistant", "content": "Order W42 was shipped, so it cannot be cancelled."},
    ]  # fmt: skip
    spans = [
        span("a", "AGENT", **{"input.value": '{"task": "Find the port."}'}),
        span("b", "LLM", **{"llm.output_messages.0.message.content": "I guess port 8443."}),
        span("c", "TOOL", **{"output.value": "port 9000 is open"}),
    ]
    label = {"location": "b", "category": "Goal Deviation", "impact": "HIGH",
             "description": "The agent guessed the port instead of looking."}  # fmt: skip
    failed = {"question": "Which port?", "history": [{"content": "Port 1.", "role": "user"}],
              "mistake_step": "0", "mistake_reason": "It answered without a search."}  # fmt: skip
    files = {
        "tau_bench/other_name.json": [{"traj": told, "reward": 0.0}] * 2,
        "trail/t.json.xz": {
            "gaia": [{"trace": {"spans": spans}, "annotation": {"errors": [label]}}]
        },
        "who_and_when/w.json": [failed],
    }
    for name, data in files.items():
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True)
        text = json.dumps(data).encode()
        path.write_bytes(lzma.compress(text) if name.endswith(".xz") else text)
    return tmp_path / "data"


def last_line(module: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any, *arguments: Any) -> Any:
    monkeypatch.setattr(sys, "argv", ["benchmark", *map(str, arguments), "--json"])
    module.main()
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_compression_ends_with_its_figures(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = last_line(compression, monkeypatch, capsys, "--data", folder, "--large", 50)
    assert list(figures) == ["traces", "dialogue", "task", "cost_saving"]
    for part in ("traces", "dialogue", "task"):
        assert set(figures[part]) == {
            "median_ratio", "median_retention", "pinned_kept", "unsupported",
        }  # fmt: skip
    assert figures["traces"]["median_retention"] >= 0.95
    assert figures["cost_saving"] > 0.7


def test_errors_end_with_their_figures(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = last_line(errors, monkeypatch, capsys, "--data", folder)
    assert list(figures) == ["critical_recall", "pattern_precision", "false_patterns"]
    assert figures["critical_recall"] == 1.0
    assert figures["false_patterns"] == 0
