"""The part of the model, when no real one is configured.

Each ``yield`` is one answer; what comes back is the next prompt. The programmer makes a mistake on
the way: it edits from memory and gets a line wrong. The error stays in sight, and the exact line is
found by opening the cited file again.
"""

from __future__ import annotations

import re

from examples.model import Messages, Play, call, read

SOURCE = "till/money.py"
FIXED = """\
    share, extra = divmod(cents, people)
    return [share + (place < extra) for place in range(people)]"""


def play() -> Play:
    yield ""  # the first prompt says nothing new
    yield call("What is here?", "list_files")
    messages = yield call("What do the tests say?", "run_tests")
    failing = _found(r"FAIL: (\w+)", messages)
    yield call(f"{failing} fails; bills are shared in {SOURCE}.", "read_file", path=SOURCE)
    yield call("The test tells what is expected.", "read_file", path="tests/test_till.py")
    messages = yield call(
        "Every share is rounded by itself, so the cents that are left over are lost. I give them "
        "out one by one.",
        "edit_file",
        path=SOURCE,
        old="    share = round(cents // people)\n    return [share] * people",
        new=FIXED,
    )
    messages = yield call(
        "I had that line wrong. The file is only cited by now; I look at the exact lines.",
        "retrieve_from_memory",
        id=_cited("source file", messages),
        regex="share",
    )
    lines = re.findall(r"^\d+: ( {4}(?:share = |return \[share).*)$", read(messages), re.MULTILINE)
    yield call(
        "Now with the lines as they are.", "edit_file", path=SOURCE, old="\n".join(lines), new=FIXED
    )
    yield call("And the tests again.", "run_tests")
    yield call(
        "Green. A second pair of eyes.", "ask_reviewer", task=f"Review split_bill in {SOURCE}."
    )
    yield from _review()
    yield (
        f"{failing} passes: split_bill in {SOURCE} rounded every share by itself and lost cents; "
        "it now gives the cents that are left over to the first guests. All tests pass, and the "
        "reviewer agrees."
    )


def _review() -> Play:
    """The sub-agent's part. Its prompts come over the same line."""
    messages = yield call("The change first.", "read_file", path=SOURCE)
    body = _found(r"(share, extra = divmod\(cents, people\))", messages)
    yield f"Right for every remainder: {body} leaves fewer extra cents than there are people."


def _found(pattern: str, messages: Messages) -> str:
    match = re.search(pattern, read(messages))
    if match is None:
        raise LookupError(f"the prompt holds nothing like {pattern!r}")
    return match.group(1)


def _cited(kind: str, messages: Messages) -> str:
    return _found(rf"\[(c-\w+)\] {kind}", messages)
