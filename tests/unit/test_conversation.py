from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import MessageParam
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from waypost.content.citation import cite
from waypost.content.conversation import Conversation, Prompt
from waypost.content.entries import Returned, ToolCall
from waypost.content.identifiers import content_id
from waypost.content.material import material_of
from waypost.content.messages import Style, problems
from waypost.content.policy import SHOW_EVERYTHING, Policy, Rule, Show
from waypost.exceptions import InvalidInput
from waypost.tokens import count_tokens

OPENAI: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])
ANTHROPIC: TypeAdapter[Any] = TypeAdapter(list[MessageParam])

ARTICLE = "\n\n".join(f"Paragraph {n} tells of harbour number {n * 37}." for n in range(60))


class Script:
    """A conversation in which every result and message is stored, as a channel would do."""

    def __init__(self, policy: Policy | None = None, style: Style = "openai") -> None:
        self.conversation = Conversation(policy, style=style)
        self.conversation.add_system("You are a clerk.")
        self.conversation.add_user("Find the harbour.")
        self.count = 0

    def step(self, *results: str, said: str = "Let me look.", **flags: Any) -> Prompt:
        """One step: the prompt, then the agent calls a tool once per result."""
        prompt = self.conversation.prompt()
        calls = [
            ToolCall(f"call_{self.count}_{n}", "visit", {"page": n}) for n in range(len(results))
        ]
        self.count += 1
        made = self.conversation.add_assistant(said, calls, citation=self.cited(said))
        for call, text in zip(made, results, strict=True):
            self.conversation.add_result(
                Returned(call.id, "visit", text, self.cited(text), "text", **flags)
            )
        return prompt

    def cited(self, text: str) -> Any:
        self.count += 1
        identifier = content_id("run", self.count)
        return cite(identifier, material_of(text), token_count=count_tokens(text), tokens=80)


def tool_texts(prompt: Prompt) -> list[str]:
    return [m["content"] for m in prompt.messages if m["role"] == "tool"]


def test_a_result_is_shown_in_full_on_the_next_step_and_cited_afterwards() -> None:
    script = Script()
    script.step(ARTICLE)
    assert tool_texts(script.step("small")) == [ARTICLE]
    later = tool_texts(script.step("small"))
    assert later[0] != ARTICLE
    assert later[0].startswith("[c-")
    assert later[1] == "small"


def test_errors_and_pinned_results_stay() -> None:
    script = Script()
    error = "Error: no route to host 10.0.0.7\n" * 5
    script.step(error, is_error=True)
    script.step(ARTICLE, pinned=True)
    for _ in range(5):
        script.step(ARTICLE)
    shown = tool_texts(script.conversation.prompt())
    assert error in shown
    assert ARTICLE in shown


def test_a_long_error_keeps_its_two_ends() -> None:
    script = Script()
    error = "Error: it began\n" + "frame\n" * 3000 + "ValueError: it ended"
    script.step(error, is_error=True)
    for _ in range(3):
        script.step("ok")
    shown = tool_texts(script.conversation.prompt())[0]
    assert shown.startswith("Error: it began")
    assert shown.endswith("ValueError: it ended")
    assert count_tokens(shown) <= Policy().error_tokens


def test_a_huge_result_is_cut_from_the_start() -> None:
    script = Script(Policy(show_tokens=200))
    script.step(ARTICLE * 20)
    [shown] = tool_texts(script.conversation.prompt())
    assert count_tokens(shown) <= 200
    assert "open the rest with" in shown


def test_only_the_first_of_a_kind_may_be_shown_in_full() -> None:
    script = Script(Policy(rule=Rule(Show.FIRST_OF_KIND), fold_after=None))
    script.step(ARTICLE)
    assert tool_texts(script.step(ARTICLE))[0] == ARTICLE
    assert tool_texts(script.conversation.prompt())[1].startswith("[c-")


def test_a_kind_or_a_tool_can_have_its_own_rule() -> None:
    always = Policy(kinds={"visit": Rule(Show.ALWAYS)}, fold_after=None)
    never = Policy(kinds={"text": Rule(Show.NEVER)}, fold_after=None)
    longer = Policy(rule=Rule(Show.ONCE, steps=3), fold_after=None)
    for policy, expected in ((always, 4), (never, 0), (longer, 3)):
        script = Script(policy)
        script.step(ARTICLE)
        seen = [ARTICLE in tool_texts(script.step("ok")) for _ in range(4)]
        assert seen == [True] * expected + [False] * (4 - expected)


def test_small_results_are_never_replaced_by_a_longer_citation() -> None:
    script = Script(Policy(fold_after=None))
    script.step("The answer is 42.")
    for _ in range(4):
        assert "The answer is 42." in tool_texts(script.step("ok"))


def test_old_steps_become_one_line_each_that_names_what_to_open() -> None:
    script = Script()
    for _ in range(8):
        script.step(ARTICLE, said="I shall visit the next page and read all of it with care. " * 9)
    messages = script.conversation.prompt().messages
    record = [m for m in messages if m["role"] == "user" and "Earlier steps" in m["content"]]
    assert len(record) == 1
    assert record[0]["content"].count("visit(") >= 4
    assert record[0]["content"].count("[c-") >= 8


def test_a_long_record_keeps_its_latest_lines_and_counts_the_others() -> None:
    script = Script(Policy(record_lines=10, batch_tokens=0))
    for _ in range(40):
        script.step(ARTICLE)
    [record] = [
        m["content"]
        for m in script.conversation.prompt().messages
        if "Earlier steps" in str(m["content"])
    ]
    assert record.count("visit(") == 10
    assert "- 28 earlier calls; find their results with query_memory" in record


def test_a_record_does_not_repeat_what_it_says_already() -> None:
    script = Script(Policy(batch_tokens=0))
    for n in range(8):
        script.step(json.dumps({"harbour": "HB-4711", "pier": f"P-{n}", "text": "x " * 200}))
    [record] = [
        m["content"]
        for m in script.conversation.prompt().messages
        if "Earlier steps" in str(m["content"])
    ]
    assert record.count("HB-4711") == 1
    assert all(f"P-{n}" in record for n in range(6))


def test_users_words_are_never_shortened() -> None:
    script = Script()
    for n in range(6):
        script.step(ARTICLE)
        script.conversation.prompt()
        script.conversation.add_assistant("Which one?", citation=script.cited("Which one?"))
        script.conversation.add_user(f"The one at pier {n}. " * 40)
    users = [m["content"] for m in script.conversation.prompt().messages if m["role"] == "user"]
    for n in range(6):
        assert f"The one at pier {n}. " * 40 in users


def test_between_two_batches_a_prompt_only_grows_at_its_end() -> None:
    script = Script(Policy(batch_tokens=3000))
    before: list[Any] = []
    rewritten = 0
    for _ in range(12):
        prompt = script.step(ARTICLE)
        same = prompt.messages[: len(before)] == before
        rewritten += not same
        assert same or prompt.compacted
        before = prompt.messages
    assert 0 < rewritten <= 4


def test_what_was_not_stored_is_never_hidden() -> None:
    conversation = Conversation()
    conversation.add_user("Go on.")
    for n in range(6):
        conversation.prompt()
        [call] = conversation.add_assistant("thinking " * 50, [ToolCall(f"c{n}", "look", {})])
        conversation.add_result(Returned(call.id, "look", ARTICLE))
    assert tool_texts(conversation.prompt()) == [ARTICLE] * 6


def test_a_budget_is_held_exactly() -> None:
    script = Script(Policy(budget_tokens=900, batch_tokens=10**6))
    for _ in range(15):
        assert script.step(ARTICLE, ARTICLE).tokens <= 900


def test_a_budget_that_cannot_be_held_is_refused_with_the_figures() -> None:
    script = Script(Policy(budget_tokens=50))
    script.conversation.add_user("word " * 100)
    with pytest.raises(InvalidInput, match="more than the budget of 50"):
        script.conversation.prompt()


def test_a_prompt_waits_for_the_results_of_all_calls() -> None:
    conversation = Conversation()
    conversation.add_user("Go on.")
    conversation.add_assistant(None, [ToolCall("a", "look", {}), ToolCall("b", "look", {})])
    conversation.add_result(Returned("a", "look", "one"))
    with pytest.raises(InvalidInput, match="the calls b have no result"):
        conversation.prompt()
    with pytest.raises(InvalidInput, match="the calls b"):
        conversation.add_user("Hello?")
    with pytest.raises(InvalidInput, match="waiting for b"):
        conversation.add_result(Returned("a", "look", "again"))


def test_a_call_id_used_twice_gets_a_new_one() -> None:
    conversation = Conversation()
    conversation.add_user("Go on.")
    for expected in ("call", "call_2", "call_3"):
        [call] = conversation.add_assistant("", [ToolCall("call", "look", {})])
        assert call.id == expected
        conversation.add_result(Returned(call.id, "look", "x"))
        assert not problems(conversation.prompt().messages)


def test_an_empty_conversation_is_refused() -> None:
    conversation = Conversation()
    conversation.add_system("You are a clerk.")
    with pytest.raises(InvalidInput, match="empty"):
        conversation.prompt()


def test_anthropic_lists_carry_the_system_text_apart() -> None:
    script = Script(style="anthropic")
    script.step(ARTICLE, ARTICLE)
    prompt = script.conversation.prompt()
    assert prompt.system == "You are a clerk."
    assert [m["role"] for m in prompt.messages] == ["user", "assistant", "user"]
    assert [b["type"] for b in prompt.messages[2]["content"]] == ["tool_result"] * 2


_EVENT = st.sampled_from(["short", "long", "two", "error", "pinned", "plain", "user"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(_EVENT, max_size=14),
    st.sampled_from(["openai", "anthropic"]),
    st.builds(
        Policy,
        fold_after=st.sampled_from([None, 1, 2]),
        batch_tokens=st.sampled_from([0, 200, 2000]),
        show_tokens=st.sampled_from([100, 4000]),
        budget_tokens=st.sampled_from([None, 9000]),
    ),
)
def test_every_list_is_valid_for_the_official_clients(
    events: list[str], style: Style, policy: Policy
) -> None:
    script = Script(policy, style)
    prompts = [play(script, event) for event in events]
    prompts.append(script.conversation.prompt())
    adapter = OPENAI if style == "openai" else ANTHROPIC
    for prompt in prompts:
        assert problems(prompt.messages, style) == []
        adapter.validate_python(json.loads(json.dumps(prompt.messages)))


def play(script: Script, event: str) -> Prompt:
    if event == "error":
        return script.step("Error: " + ARTICLE, is_error=True)
    if event == "pinned":
        return script.step(ARTICLE[:300], pinned=True)
    if event in ("plain", "user"):
        prompt = script.conversation.prompt()
        script.conversation.add_assistant("", citation=script.cited("nothing"))
        if event == "user":
            script.conversation.add_user("And now?")
        else:
            script.conversation.add_user([{"type": "text", "text": "And now?"}])
        return prompt
    results = {"short": ["ok"], "long": [ARTICLE], "two": [ARTICLE, "ok"]}[event]
    return script.step(*results, said="" if event == "short" else "Looking. " * 40)


def test_the_same_events_give_the_same_bytes() -> None:
    def run() -> str:
        script = Script()
        return json.dumps([script.step(ARTICLE, "ok").messages for _ in range(8)])

    assert run() == run()


def test_without_the_channel_everything_stays() -> None:
    script = Script(SHOW_EVERYTHING)
    for _ in range(5):
        script.step(ARTICLE)
    assert tool_texts(script.conversation.prompt()) == [ARTICLE] * 5


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([{"role": "tool", "tool_call_id": "x", "content": "a"}], "answers no open call"),
        (
            [{"role": "assistant", "content": None, "tool_calls": [{"id": "x"}]}],
            "no result for x",
        ),
        ([{"role": "user", "content": ""}], "is empty"),
        ([{"role": "narrator", "content": "a"}], "narrator"),
    ],
)
def test_the_check_names_what_a_provider_would_refuse(
    messages: list[dict[str, Any]], said: str
) -> None:
    assert said in "; ".join(problems(messages))
