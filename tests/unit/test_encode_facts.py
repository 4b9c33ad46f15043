from __future__ import annotations

import pytest

from waypost.encode.facts import fact_key
from waypost.encode.text import encode


def _keyed(text: str, source: str | None = None) -> list[tuple[str, str | None]]:
    facts = encode(text, source=source).facts
    return [(key, fact.value) for fact in facts if (key := fact_key(fact))]


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("The deploy port is 8443.", "deploy port|value", "8443"),
        ("database host = db1", "database host|value", "db1"),
        ("timeout: 30s", "timeout|value", "30s"),
        ("max_connections: 40", "max_connections|value", "40"),
        ("Alice lives in Berlin", "alice|home", "Berlin"),
        ("I moved to Lisbon last year", "user|home", "Lisbon"),
        ("I work at Acme as a nurse", "user|employer", "Acme"),
        ("I'm 34 years old", "user|age", "34"),
        ("my favourite colour is green", "user|favorite color", "green"),
        ("By the way, my name is Bob and I live in Paris", "user|name", "Bob"),
        ("My cousin's name is Olivia", "user's cousin|name", "Olivia"),
        ("Alice's phone number is 555-1234", "alice|phone number", "555-1234"),
        ("we use Postgres 16 for storage", "storage|used", "Postgres 16"),
        ("the API key env var is now FOO", "api key env var|value", "FOO"),
        ("The owner of billing is Carol now", "billing|owner", "Carol"),
        ("I set the timeout to 30s", "timeout|value", "30s"),
        ("The meeting is on Friday", "meeting|on", "on Friday"),
        ("my salary is $73,000 per year", "user|salary", "$73,000 per year"),
        ("Correction: the deadline is 3 June, not 1 June", "deadline|value", "3 June"),
    ],
)
def test_a_statement_gives_a_keyed_fact(text: str, key: str, value: str) -> None:
    assert _keyed(text) == [(key, value)]


@pytest.mark.parametrize(
    "text",
    [
        "We changed the deploy port from 8443 to 9443.",
        "The deploy port is no longer 8443 but 9443",
        "The deploy port was changed to 9443.",
        "Actually, the deploy port is now 9443.",
        "Our new deploy port is 9443",
        "deploy port = 9443",
    ],
)
def test_a_correction_has_the_key_of_what_it_corrects(text: str) -> None:
    assert _keyed(text) == [(_keyed("The deploy port is 8443.")[0][0], "9443")]


@pytest.mark.parametrize(
    "text",
    [
        "Is the deploy port 8443?",
        "If the deploy port is 80, stop.",
        "The deploy port should be 80.",
        "Maybe the deploy port is 80.",
        "I think the deploy port is 80",
        "The deploy port isn't 80.",
        "The deploy port is not 80.",
        "It is 8443.",
        "That is fine.",
        "It is great.",
        "There is 1 left.",
        "The weather is great",
        "The best part is Rome",
        "The app is user-friendly",
        "I like hiking",
        "We visited Rome",
        "One of my favorite cities is Rome",
        "my favorite movies are Alien and Brazil",
        "my sister is a nurse",
        "my son is 16",
        "Users moved to Facebook",
        "const x = compute(4);",
        "Note: this is fine",
    ],
)
def test_what_is_not_a_statement_of_one_value_has_no_key(text: str) -> None:
    assert _keyed(text) == []


def test_the_first_person_is_the_source() -> None:
    assert _keyed("My name is Bob", source="Bob Ray") == [("bob ray|name", "Bob")]


def test_what_may_hold_beside_others_is_a_fact_without_a_key() -> None:
    (fact,) = encode("I like hiking").facts
    assert (fact.subject, fact.attribute, fact.value) == ("user", None, "hiking")


def test_lines_of_a_pasted_file_give_no_facts() -> None:
    assert _keyed("name: web\nport: 80\nhost: db1\nregion: eu-1\ntimeout: 3") == []


def test_two_statements_in_one_sentence_are_two_facts() -> None:
    keys = [key for key, _ in _keyed("The deploy port is 8443, and our region is eu-west-1.")]
    assert keys == ["deploy port|value", "region|value"]
