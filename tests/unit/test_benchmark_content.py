"""The content benchmark on small runs of our own, in the layout of the public data sets."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from benchmarks.content import main
from benchmarks.content_replay import Replay
from benchmarks.content_traces import load_traces
from waypost.content.policy import Policy

ORDER = {"order_id": "W-88123", "items": [{"sku": f"SKU-{n}", "note": "x" * 40} for n in range(30)]}


def tool_call(number: int, **arguments: Any) -> dict[str, Any]:
    function = {"name": "look_up", "arguments": json.dumps(arguments)}
    calls = [{"id": f"call_{number}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def customer_service_run() -> dict[str, Any]:
    """The order is looked up first and its number used again when it is long out of sight."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You serve customers."},
        {"role": "user", "content": "What is in my last order?"},
    ]
    for number in range(6):
        found = ORDER if number == 0 else {"shelf": number, "text": f"row {number} " * 60}
        messages += [
            tool_call(number, shelf=number),
            {"role": "tool", "tool_call_id": f"call_{number}", "content": json.dumps(found)},
        ]
    messages.append({"role": "assistant", "content": "Your order W-88123 holds SKU-29."})
    return {"traj": messages, "reward": 1.0}


def coding_run() -> dict[str, Any]:
    steps = [
        {"role": "system", "content": "You repair code."},
        {"role": "user", "content": "The tests fail."},
    ]
    for number in range(4):
        steps += [
            {"role": "assistant", "content": "look", "thought": "look", "action": f"cat f{number}"},
            {"role": "user", "content": f"def f{number}():\n    pass\n" * 50},
        ]
    return {"history": steps}


def span(kind: str, name: str, *children: dict[str, Any], **attributes: Any) -> dict[str, Any]:
    return {
        "span_name": name,
        "span_attributes": {"openinference.span.kind": kind, **attributes},
        "child_spans": list(children),
    }


def traced_run() -> dict[str, Any]:
    request = "Calling tools:\n" + str(
        [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": {"q": "x"}}}]
    )
    sent = [
        ("system", "You search."),
        ("user", "Find it."),
        ("assistant", "I search."),
        ("tool-call", request),
        ("tool-response", "Call id: c1\nObservation:\n" + "a page about bridge-77 " * 80),
    ]
    attributes = {
        f"llm.input_messages.{place}.message.{key}": value
        for place, (role, content) in enumerate(sent)
        for key, value in (("role", role), ("content", content))
    }
    answer = {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "It is bridge-77.",
    }
    model = span("LLM", "model", **attributes, **answer)
    return {"trace": {"spans": [span("AGENT", "agent", span("CHAIN", "Step 1", model))]}}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("tau_bench", "trail", "swe_agent"):
        (tmp_path / name).mkdir()
    (tmp_path / "tau_bench/any_name.json").write_text(json.dumps([customer_service_run()]))
    (tmp_path / "swe_agent/other.json").write_text(json.dumps({"run": coding_run()}))
    with lzma.open(tmp_path / "trail/some.json.xz", "wt") as file:
        json.dump({"gaia": [traced_run()]}, file)
    return tmp_path


def test_every_set_is_read_whatever_its_file_is_called(data: Path) -> None:
    assert [trace.family for trace in load_traces(data)] == ["trail", "tau_bench", "swe_agent"]
    (data / "trail/some.json.xz").unlink()
    assert [trace.family for trace in load_traces(data)] == ["tau_bench", "swe_agent"]


def test_a_name_that_is_out_of_sight_is_found_through_its_citation(data: Path) -> None:
    [trace] = [one for one in load_traces(data) if one.family == "tau_bench"]
    measured = Replay(trace, Policy()).run()
    assert measured.uses == measured.reachable == 2
    assert measured.visible < 2
    assert measured.invalid == 0
    assert 0 < measured.with_channel < measured.without


def test_without_citations_nothing_is_saved(data: Path) -> None:
    from waypost.content.policy import SHOW_EVERYTHING

    [trace] = [one for one in load_traces(data) if one.family == "tau_bench"]
    measured = Replay(trace, SHOW_EVERYTHING).run()
    assert measured.saved == 0.0
    assert measured.visible == measured.uses


def test_the_last_line_is_one_object_with_the_figures(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--data", str(data), "--json"])
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {
        "tokens_saved",
        "reachable",
        "peak_bytes_20_steps",
        "conversation_saved_20_steps",
        "invalid_message_lists",
    } <= set(figures)
    assert figures["peak_bytes_20_steps"] < 50_000
    assert figures["conversation_saved_20_steps"] >= 0.95
    assert figures["invalid_message_lists"] == 0


def test_a_folder_without_runs_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--data", str(tmp_path)])
    assert "no runs found below" in capsys.readouterr().err
