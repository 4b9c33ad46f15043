"""What the content channel saves, and whether the agent still has what it needs.

    python -m benchmarks.content [--data FOLDER] [--json]

Two parts. *Real traces*: every run of TRAIL, tau-bench and SWE-agent below the folder is replayed
step by step, with the default policy and without the channel (see ``content_replay``). *A
content-heavy run*: twenty steps of pages, searches, tables, logs and files through the public
channel and a real store, message bytes counted at each step. Savings compare what is sent over the
whole run, not the last step.

The system prompt and the task are sent at every step whether or not there is a channel.
``tokens_saved`` is therefore measured on the conversation after them;
``tokens_saved_of_everything`` counts them too, and ``could_save_of_everything`` is what would be
saved of everything if the whole conversation after them were left out: no channel can go beyond.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.content_heavy import heavy_run
from benchmarks.content_replay import Measured, Replay
from benchmarks.content_traces import Trace, load_traces
from waypost.content.compaction import choose, compact
from waypost.content.material import material_of
from waypost.content.policy import Policy
from waypost.tokens import count_tokens

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the data sets")
    parser.add_argument("--json", action="store_true", help="print only the figures, on one line")
    parser.add_argument("--every", type=int, default=1, help="replay every n-th run only")
    arguments = parser.parse_args(words)
    traces = load_traces(arguments.data)[:: arguments.every]
    if not traces:
        parser.error(f"no runs found below {arguments.data}; give the folder with --data")
    families = replay_all(traces, Policy())
    heavy = asyncio.run(heavy_run(20))
    figures = _figures(families["all"], heavy)
    if not arguments.json:
        _print_report(families, heavy, traces)
    print(json.dumps(figures))


def replay_all(traces: list[Trace], policy: Policy) -> dict[str, Measured]:
    """Measure every trace; sums per family and for all."""
    families: dict[str, Measured] = defaultdict(Measured)
    for trace in traces:
        measured = Replay(trace, policy).run()
        families[trace.family].add(measured)
        families["all"].add(measured)
    return dict(families)


def _figures(measured: Measured, heavy: dict[str, Any]) -> dict[str, float | int]:
    return {
        "tokens_saved": round(measured.saved, 4),
        "reachable": round(measured.reachable / max(measured.uses, 1), 4),
        "peak_bytes_20_steps": heavy["peak_with"],
        "conversation_saved_20_steps": round(heavy["saved"], 4),
        "invalid_message_lists": measured.invalid + heavy["invalid"],
        "tokens_saved_of_everything": round(measured.saved_of_all, 4),
        "could_save_of_everything": round(measured.highest_possible, 4),
        "visible": round(measured.visible / max(measured.uses, 1), 4),
    }


def _print_report(
    families: dict[str, Measured], heavy: dict[str, Any], traces: list[Trace]
) -> None:
    names = [name for name in families if name != "all"] + ["all"]
    print("| traces | steps | tokens without | with | conversation saved | of everything | at most "
          "| with re-opening | uses | visible | reachable | rewrites | peak bytes |")  # fmt: skip
    print("|---|" + "---:|" * 12)
    for name in names:
        print(_row(name, families[name]))
    print()
    print("| step | bytes without | with | tokens without | with |")
    print("|---|---:|---:|---:|---:|")
    for step in heavy["steps"]:
        print("| {step} | {bytes_without:,} | {bytes_with:,} | {without:,} | {with_channel:,} |"
              .format(**step))  # fmt: skip
    print()
    print("| plugin | results | tokens in | ms per result |")
    print("|---|---:|---:|---:|")
    for name, (count, tokens, seconds) in sorted(compaction_times(traces).items()):
        print(f"| {name} | {count} | {tokens:,} | {1000 * seconds / count:.2f} |")
    print()


def _row(name: str, m: Measured) -> str:
    uses = max(m.uses, 1)
    return (
        f"| {name} | {m.steps} | {m.without:,} | {m.with_channel:,} | {m.saved:.1%} | "
        f"{m.saved_of_all:.1%} | {m.highest_possible:.1%} | {m.saved_with_reopening:.1%} | "
        f"{m.uses} | {m.visible / uses:.1%} | {m.reachable / uses:.1%} | "
        f"{m.rewrites / max(m.steps, 1):.0%} | {m.peak_without:,} → {m.peak_with:,} |"
    )


def compaction_times(traces: list[Trace]) -> dict[str, tuple[int, int, float]]:
    """Results, tokens and seconds spent per plugin, choosing included."""
    found: dict[str, tuple[int, int, float]] = {}
    for trace in traces:
        for message in trace.messages:
            if message["role"] != "tool":
                continue
            started = time.perf_counter()
            material = material_of(message["content"])
            name = choose(material).name
            compact(material)
            spent = time.perf_counter() - started
            count, tokens, seconds = found.get(name, (0, 0, 0.0))
            found[name] = (count + 1, tokens + count_tokens(message["content"]), seconds + spent)
    return found


if __name__ == "__main__":
    main()
