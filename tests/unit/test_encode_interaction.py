from __future__ import annotations

import pytest

from waypost.encode.importance import estimate_importance
from waypost.encode.interaction import split_interaction
from waypost.encode.routing import route
from waypost.model import Action, Interaction, MemoryType


@pytest.mark.parametrize(
    ("text", "memory_type", "kind"),
    [
        ("We decided to use Postgres.", "semantic", "decision"),
        ("We're going with the blue design.", "semantic", "decision"),
        ("Always run the linter before a commit.", "semantic", "convention"),
        ("Style: four spaces, no tabs.", "semantic", "convention"),
        ("The import must not take longer than a second.", "semantic", "constraint"),
        ("I prefer short answers.", "semantic", "preference"),
        ("The deploy failed with a full disk.", "episodic", "failure"),
        ("Traceback (most recent call last):\n  File", "episodic", "error"),
        ("ValueError: bad port", "episodic", "error"),
        ("To deploy the site: build, push, restart.", "procedural", "strategy"),
        ("1. build it\n2. push it", "procedural", "strategy"),
        ("The deploy port is 8443.", "semantic", "fact"),
        ('{"id": 1, "ok": true}', "episodic", "tool_output"),
        ("2024-05-01 10:00:01 start\n2024-05-01 10:00:02 stop", "episodic", "tool_output"),
        ("| a | b |\n| - | - |\n| 1 | 2 |", "episodic", "tool_output"),
        ("We had lunch by the river.", "episodic", "note"),
        ("Do you prefer tea?", "episodic", "note"),
        ("", "episodic", "note"),
    ],
)
def test_a_text_finds_its_type_and_kind(text: str, memory_type: str, kind: str) -> None:
    assert route(text) == (MemoryType(memory_type), kind)


def test_a_given_kind_decides_the_type() -> None:
    assert route("anything", kind="decision") == (MemoryType.SEMANTIC, "decision")
    assert route("We decided it.", kind="diary") == (MemoryType.EPISODIC, "diary")


def test_actions_that_succeeded_are_a_procedure() -> None:
    actions = (Action(name="deploy"),)
    assert route("ship", actions=actions, success=True) == (MemoryType.PROCEDURAL, "strategy")
    assert route("ship", actions=actions, success=False) == (MemoryType.EPISODIC, "failure")


def test_an_interaction_gives_its_episode_its_facts_and_its_procedure() -> None:
    memories = split_interaction(
        Interaction(
            query="Ship it. The deploy port is 8443.",
            response="Done.",
            outcome="The service is up.",
            actions=(Action(name="deploy", arguments={"port": 8443}, success=True),),
            success=True,
            source="ann",
        )
    )
    assert [memory.type for memory in memories] == ["episodic", "semantic", "procedural"]
    episode, fact, procedure = memories
    assert "Ship it." in episode.content
    assert "Outcome: The service is up." in episode.content
    assert fact.content == "The deploy port is 8443"
    assert fact.facts is not None
    assert fact.facts[0].value == "8443"
    assert 'deploy {"port": 8443}' in procedure.content
    assert procedure.success is True


def test_a_failed_interaction_gives_no_procedure_and_no_fact_of_its_outcome() -> None:
    memories = split_interaction(
        Interaction(
            query="ship",
            outcome="The deploy port is 8443.",
            actions=(Action(name="deploy"),),
            success=False,
        )
    )
    assert [memory.kind for memory in memories] == ["failure"]


def test_a_long_response_of_the_agent_is_not_believed() -> None:
    response = "Let me see. Many things matter. So many. The deploy port is 8443. Good."
    assert len(split_interaction(Interaction(query="hm", response=response))) == 1


def test_of_two_statements_about_one_thing_the_later_holds() -> None:
    query = "The deploy port is 8443. Sorry, the deploy port is 9443."
    _, fact = split_interaction(Interaction(query=query))
    assert fact.facts is not None
    assert fact.facts[0].value == "9443"


def test_importance_orders_what_matters() -> None:
    chat = estimate_importance("Thanks, great!", "message")
    note = estimate_importance("We had lunch by the river.", "note")
    decision = estimate_importance("We decided to use port 8443 instead of 80.", "decision")
    assert 0 < chat < note < decision <= 1
