"""From one exchange to the memories it gives: what happened, what was stated, what worked.

The episode comes first and holds everything. Facts come from the user's words and from the
outcome. The agent's response counts as an outcome only when it is brief and no other is given: an
agent that believes its own long musings fills its memory with them. Where the memories are placed,
and the links back to the episode, are the caller's business.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from waypost.encode.facts import fact_key, find_facts
from waypost.encode.importance import estimate_importance
from waypost.encode.sentences import split_sentences, summarize
from waypost.model import Action, Fact, Interaction, MemoryType, NewMemory, Origin, Trust
from waypost.model import vocabulary as kinds
from waypost.model.vocabulary import TRUST_OF_ORIGIN

_READ = 8000
_MAX_CONTENT = 1_000_000
_MAX_ARGUMENTS = 200
_BRIEF = 3


def split_interaction(
    interaction: Interaction, facts: Sequence[Fact] | None = None
) -> list[NewMemory]:
    """Return the memories of an exchange, the episodic one first.

    ``facts`` are those of the exchange when a model has read it already.
    """
    stated = _stated(interaction) if facts is None else _each_once(facts)
    memories = [_episode(interaction)]
    memories += [_semantic(fact, interaction) for fact in stated]
    procedure = _procedure(interaction)
    if procedure is not None:
        memories.append(procedure)
    return memories


def _episode(interaction: Interaction) -> NewMemory:
    content = episode_text(interaction)
    failed = interaction.success is False
    kind = kinds.FAILURE if failed else kinds.INTERACTION
    importance = interaction.importance
    if importance is None:
        importance = estimate_importance(content, kind)
    return NewMemory(
        content=content,
        type=MemoryType.EPISODIC,
        kind=kind,
        origin=interaction.origin,
        source=interaction.source,
        importance=importance,
        actions=interaction.actions,
        outcome=interaction.outcome,
        success=interaction.success,
        is_critical=interaction.is_critical,
        criticality_reason=interaction.criticality_reason,
    )


def episode_text(interaction: Interaction) -> str:
    """Write the exchange as text: what was asked, what was done, how it ended."""
    lines = [interaction.query]
    if interaction.response:
        lines.append(f"Response: {interaction.response}")
    lines += [f"Action: {_describe(action)}" for action in interaction.actions]
    if interaction.outcome and interaction.outcome != interaction.response:
        lines.append(f"Outcome: {interaction.outcome}")
    return "\n".join(lines).replace("\x00", "")[:_MAX_CONTENT]


def _stated(interaction: Interaction) -> list[Fact]:
    """Return the keyed facts; of two about the same thing the later one holds."""
    facts = find_facts(split_sentences(interaction.query[:_READ]), source=interaction.source)
    if interaction.success is not False:
        facts += find_facts(_result(interaction), source=Origin.AGENT)
    return _each_once([fact for fact in facts if fact_key(fact) is not None])


def _each_once(facts: Sequence[Fact]) -> list[Fact]:
    return list({fact_key(fact) or fact.text: fact for fact in facts}.values())


def _result(interaction: Interaction) -> list[str]:
    if interaction.outcome:
        return split_sentences(interaction.outcome[:_READ])
    sentences = split_sentences((interaction.response or "")[:_READ])
    return sentences if len(sentences) <= _BRIEF else []


def _semantic(fact: Fact, interaction: Interaction) -> NewMemory:
    return NewMemory(
        content=fact.text,
        type=MemoryType.SEMANTIC,
        kind=kinds.FACT,
        facts=(fact,),
        origin=_origin(fact, interaction),
        source=interaction.source,
        importance=estimate_importance(fact.text, kinds.FACT),
    )


def _origin(fact: Fact, interaction: Interaction) -> Origin:
    """Who stated a fact: what stands only in the agent's answer is believed as the agent is."""
    asked = fact.text.casefold() in interaction.query.casefold()
    if asked or TRUST_OF_ORIGIN[interaction.origin].rank < Trust.MEDIUM.rank:
        return interaction.origin
    return Origin.AGENT


def _procedure(interaction: Interaction) -> NewMemory | None:
    """Keep what was done as a way to do it again, when it is known to have worked."""
    done = [action for action in interaction.actions if action.success is not False]
    if not done or interaction.success is False:
        return None
    if interaction.success is None and not all(action.success for action in interaction.actions):
        return None
    query = interaction.query[:_READ]
    steps = [f"{number}. {_describe(action)}" for number, action in enumerate(done, start=1)]
    lines = [f"To do: {summarize(query, split_sentences(query))}", *steps]
    if interaction.outcome:
        outcome = interaction.outcome[:_READ]
        lines.append(f"Outcome: {summarize(outcome, split_sentences(outcome))}")
    return NewMemory(
        content="\n".join(lines).replace("\x00", "")[:_MAX_CONTENT],
        type=MemoryType.PROCEDURAL,
        kind=kinds.STRATEGY,
        origin=Origin.DERIVED,
        source=interaction.source,
        importance=estimate_importance(query, kinds.STRATEGY),
        actions=tuple(done),
        outcome=interaction.outcome,
        success=True,
    )


def _describe(action: Action) -> str:
    if not action.arguments:
        return action.name
    arguments = json.dumps(action.arguments, ensure_ascii=False, sort_keys=True, default=str)
    if len(arguments) > _MAX_ARGUMENTS:
        arguments = arguments[: _MAX_ARGUMENTS - 1] + "…"
    return f"{action.name} {arguments}"
