"""Statements in a text that say what something is.

A keyed fact has a subject and an attribute that can hold one value at a time, so that a later
statement about the same closes the earlier one. A wrong key makes a true memory disappear from
view; a missed one costs little. So the forms are few and strict: questions, conjectures, negations
without a new value, pronouns and matters of taste give no key. Statements that may hold side by
side ("I like X") are kept without one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from waypost.encode.fact_words import (
    is_concrete,
    is_known_head,
    is_single_valued,
    needs_context,
    normalize_phrase,
    trim_value,
)
from waypost.model import Fact

MAX_FACTS = 16
_MAX_LINES = 3
_MAX_SENTENCE = 240

_LEAD = re.compile(
    r"^(?:[-*•>#\s]+|\d{1,2}[.)] +|(?:yes|yeah|no|well|also|actually|oh|ok|okay|so|and|but|btw|fyi"
    r"|by the way|update|correction|note|note that|remember that|remember|please note that"
    r"|for the record|just so you know|as of (?:now|today)|from now on|sorry|hey|hi|now"
    r"|currently)\b[,:!.]? +)+",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:if|might|may|maybe|perhaps|should|would|could|can|cannot|probably|possibly|unless"
    r"|suppose|assum\w+|imagine|wish|hope|hoping|whether|think|thinking|guess|seems?|looks? like"
    r"|wonder\w*|want|plan\w*|consider\w*|going to|will|let's|let us|either|or|example|e\.g"
    r"|typically|usually|often|sometimes|generally|depends?)\b|\?",
    re.IGNORECASE,
)
_TRIGGER = re.compile(
    r"[=:]|\b(?:is|are|am|lives?|moved|works?|uses?|using|changed|switched|updated|renamed|migrated"
    r"|upgraded|bumped|set|increased|reduced|lowered|raised|born|like|love|enjoy|prefer|hate"
    r"|visited)\b|'[sm] "
)

_Maker = Callable[[re.Match[str], str, str | None], Fact | None]
_Forms = tuple[tuple[tuple[str, ...], re.Pattern[str], _Maker], ...]

_PERSON = r"(?P<who>I|[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)?)"
_NOW = r"(?:(?:now|currently|still|actually|just|recently|already|finally) )*"
_THING = r"[\w./@+-]+(?: [\w./@+-]+){0,4}?"
_OWNER = r"(?:(?P<owner>my|our|the|[A-Z][\w-]+(?: [A-Z][\w-]+)?['’]s) )"
_CHANGE = (
    "(?:changed|moved|switched|updated|renamed|migrated|upgraded|bumped|increased|reduced|lowered"
    "|raised)"
)

_IS_NO_LONGER = re.compile(
    rf"^{_OWNER}?(?P<thing>{_THING}) (?:is|are) (?:no longer|not) (?P<old>[^,;]{{1,60}}?),? "
    r"(?:but|it's|it is)(?: now)? (?P<value>.+)$",
    re.IGNORECASE,
)
_WAS_CHANGED = re.compile(
    rf"^{_OWNER}?(?P<thing>{_THING}) (?:(?P<passive>was|has been|got|is) )?{_NOW}{_CHANGE}"
    r"(?: from (?P<old>.{1,60}?))? to (?P<value>.+)$",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    rf"^(?:(?:I|we|they|[A-Z][a-z]+)(?: have|'ve)? )?{_NOW}(?:{_CHANGE}|set) {_OWNER}?"
    rf"(?P<thing>{_THING})(?: from (?P<old>.{{1,60}}?))? to (?P<value>.+)$",
    re.IGNORECASE,
)
_OF = re.compile(
    rf"^the (?P<attribute>[\w-]+(?: [\w-]+){{0,2}}) (?:of|for) (?:(?P<owner>my|our|the) )?"
    rf"(?P<thing>{_THING}) is {_NOW}(?P<value>.+)$",
    re.IGNORECASE,
)
_IS = re.compile(
    rf"^{_OWNER}(?P<thing>{_THING}) (?P<verb>is|are) {_NOW}(?:set to |(?P<naming>called|named) )?"
    r"(?P<value>.+)$",
    re.IGNORECASE,
)
_EQUALS = re.compile(
    r"^(?P<thing>[A-Za-z][\w.-]*(?: [\w.-]+){0,3}) ?(?P<sign>=|:=|:) ?(?P<value>\S.{0,80})$"
)
_USES = re.compile(
    rf"^(?:we|I|our team|the team) {_NOW}(?:use|are using|switched to) "
    r"(?P<value>.{2,40}?) (?:for|as) (?:(?:the|our|my|all) )?(?P<thing>[\w-]+(?: [\w-]+){0,2})$",
    re.IGNORECASE,
)
_LIFE = re.compile(
    rf"^{_PERSON}(?:'m| am|'ve| have| has| is)? {_NOW}(?P<verb>lives? in|living in|moved to"
    r"|work(?:s|ing)? (?:at|for|as)|was born (?:in|on)|married to) (?P<value>.+)$"
)
_AGE = re.compile(rf"^{_PERSON}(?:'m| am| is) {_NOW}(?P<value>\d{{1,3}})(?: years old)?$")
_LIKE = re.compile(
    rf"^{_PERSON} (?:really |also |always )?(?:(?:dis)?likes?|loves?|enjoys?|prefers?"
    r"|hates?|visited) (?P<value>.+)$"
)

_LIFE_ATTRIBUTES = {
    "live": "home", "lives": "home", "living": "home", "moved": "home", "married": "spouse",
    "at": "employer", "for": "employer", "as": "occupation", "in": "birthplace", "on": "birthday",
}  # fmt: skip


def find_facts(sentences: Sequence[str], *, source: str | None = None) -> list[Fact]:
    """Return the statements of fact, in the order of the text, each once."""
    found: dict[Fact, None] = {}
    # Lines of a long text such as "name: x" are a pasted file or form, not somebody's statement.
    forms = _FORMS if len(sentences) <= _MAX_LINES else _FORMS[:-1]
    for sentence in sentences:
        for fact in _facts_of(sentence, source, forms):
            found[fact] = None
        if len(found) >= MAX_FACTS:
            break
    return list(found)[:MAX_FACTS]


def fact_key(fact: Fact) -> str | None:
    """Name what the fact is about, or None when it may hold beside others of its kind."""
    if not fact.subject or not fact.attribute or not fact.value:
        return None
    return f"{fact.subject}|{fact.attribute}"


def _facts_of(sentence: str, source: str | None, forms: _Forms) -> Iterator[Fact]:
    if len(sentence) > _MAX_SENTENCE or _TRIGGER.search(sentence) is None:
        return
    for clause in _clauses(sentence):
        if len(clause) < 6 or _TRIGGER.search(clause) is None or _DOUBT.search(clause):
            continue
        fact = _read(clause, source, forms)
        if fact is not None:
            yield fact


_CLAUSE = re.compile(
    r"; |, (?:and|but|so) (?=(?:my|our|the|I|we|he|she|they|it|you|[A-Z])\b)|, (?=(?:my|our|I|we) )"
)


def _clauses(sentence: str) -> list[str]:
    """Cut a sentence where a new statement starts; a question is not cut, it is no statement."""
    if sentence.endswith("?"):
        return []
    clauses = _CLAUSE.split(sentence.rstrip(" .!*"))
    return [_LEAD.sub("", clause).replace("**", "") for clause in clauses[:4]]


def _read(clause: str, source: str | None, forms: _Forms) -> Fact | None:
    for needles, pattern, make in forms:
        if not any(needle in clause for needle in needles):
            continue
        match = pattern.match(clause)
        fact = make(match, clause, source) if match is not None else None
        if fact is not None:
            return fact
    return None


def _make_thing(match: re.Match[str], clause: str, source: str | None) -> Fact | None:
    """Make a fact from an owner, a thing and its value."""
    groups = match.groupdict()
    value = trim_value(match["value"])
    subject, attribute = _name(groups.get("owner"), match["thing"], source)
    if not value or subject is None:
        return None
    if groups.get("naming"):
        # Without an owner, "the park is called X" may be about another park each time.
        named = None if attribute == "value" else f"{attribute} name"
        return Fact(text=clause, subject=subject, attribute=named, value=value)
    head = subject if attribute == "value" else attribute
    if not is_single_valued(head, value, plural=groups.get("verb") == "are"):
        return None
    # "My son is 16" and "my son is Tom" hold together; "the budget" alone could be any budget.
    if not is_known_head(head) and attribute != "value":
        return None
    if head == "budget" and (attribute == head or " for " in value or " per " in value):
        return None
    if attribute == "value" and needs_context(head):
        return None
    if attribute == "value" and (place := value.split(" ")[0].lower()) in _PLACES:
        # "The meeting is on Friday" and "the meeting is in room 4" do not contradict each other.
        attribute = place
    return Fact(text=clause, subject=subject, attribute=attribute, value=value)


_PLACES = frozenset(("on", "in", "at", "from", "with", "for", "by", "under", "behind", "near"))


def _name(owner: str | None, thing: str, source: str | None) -> tuple[str | None, str]:
    """Give subject and attribute: "my name" is the speaker's, "the port" stands for itself."""
    phrase = normalize_phrase(thing)
    if phrase is None:
        return None, ""
    word = (owner or "the").lower()
    if word == "my":
        return _speaker(source), phrase
    if word.endswith(("'s", "’s")):
        return _owner(word[:-2], source), phrase
    return phrase, "value"


def _owner(owner: str, source: str | None) -> str:
    """Spell whose a thing is: "my cousin" belongs to the speaker, "the script" to nobody."""
    if owner.startswith("my "):
        return f"{_speaker(source)}'s {owner[3:]}"
    return owner.removeprefix("the ").removeprefix("our ")


def _speaker(source: str | None) -> str:
    return (source or "user").strip().lower() or "user"


def _make_changed(match: re.Match[str], clause: str, source: str | None) -> Fact | None:
    """Make a fact from a change; the old value or a concrete new one must show that it is one."""
    if match["old"] is None and not is_concrete(trim_value(match["value"]) or ""):
        return None
    if match["old"] is None and match.groupdict().get("passive", "") is None:
        return None  # "users moved to Berlin" does not say what the users are
    return _make_thing(match, clause, source)


def _make_of(match: re.Match[str], clause: str, source: str | None) -> Fact | None:
    subject, attribute = normalize_phrase(match["thing"]), normalize_phrase(match["attribute"])
    value = trim_value(match["value"])
    if subject is None or attribute is None or not value:
        return None
    if not is_single_valued(attribute, value):
        return None
    return Fact(text=clause, subject=subject, attribute=attribute, value=value)


def _make_equals(match: re.Match[str], clause: str, source: str | None) -> Fact | None:
    subject, value = normalize_phrase(match["thing"]), trim_value(match["value"])
    if subject is None or not value or len(subject) < 3 or not is_concrete(value):
        return None
    if _CODE.search(clause) or len(value.split()) > 4 or needs_context(subject):
        return None
    if match["sign"] == ":" and not is_known_head(subject) and "_" not in subject:
        return None
    return Fact(text=clause, subject=subject, attribute="value", value=value)


_CODE = re.compile(
    r"[(){}\[\]<>;\\]|^(?:const|var|let|int|float|string|bool|type|name)\b", re.IGNORECASE
)


def _make_uses(match: re.Match[str], clause: str, source: str | None) -> Fact | None:
    subject, value = normalize_phrase(match["thing"]), trim_value(match["value"])
    if subject is None or not value or not is_concrete(value):
        return None
    return Fact(text=clause, subject=subject, attribute="used", value=value)


def _make_life(match: re.Match[str], clause: str, source: str | None) -> Fact | None:
    words = match["verb"].split()
    attribute = _LIFE_ATTRIBUTES.get(words[0]) or _LIFE_ATTRIBUTES[words[-1]]
    value = trim_value(match["value"])
    subject = _person(match["who"], source)
    if not value or subject is None or (match["who"] != "I" and words[0] in ("live", "work")):
        return None
    if match["who"].endswith(("s", "ly")) and words[0] in ("moved", "lives"):
        return None  # "Users moved to Berlin" is about many, "mostly lives in" about nobody
    if attribute != "occupation":
        named = _PROPER.match(value)
        value = named[0] if named else ""
    if not value or len(value.split()) > 6:
        return None
    if attribute == "birthplace" and value[0].isdigit():
        attribute = "birth year"
    return Fact(text=clause, subject=subject, attribute=attribute, value=value)


_PROPER = re.compile(r"(?:the )?(?:[A-ZÀ-Þ]|\d)[\w'.&-]*(?: (?:[A-ZÀ-Þ\d][\w'.&-]*|of|de|&))*")


def _make_age(match: re.Match[str], clause: str, source: str | None) -> Fact | None:
    subject = _person(match["who"], source)
    if subject is None:
        return None
    return Fact(text=clause, subject=subject, attribute="age", value=match["value"])


def _make_like(match: re.Match[str], clause: str, source: str | None) -> Fact | None:
    subject = _person(match["who"], source)
    if subject is None:
        return None
    return Fact(text=clause, subject=subject, value=trim_value(match["value"]))


def _person(who: str, source: str | None) -> str | None:
    if who == "I":
        return _speaker(source)
    return normalize_phrase(who)


# What a clause must contain for a form to be worth trying, the form, and what it makes.
_FORMS: _Forms = (
    ((" no longer ", " not "), _IS_NO_LONGER, _make_thing),
    ((" to ",), _CHANGED, _make_changed),
    ((" to ",), _WAS_CHANGED, _make_changed),
    ((" for ", " as "), _USES, _make_uses),
    ((" in ", " to ", " at ", " for ", " as ", " on "), _LIFE, _make_life),
    (("'m ", " am ", " is "), _AGE, _make_age),
    (("like", "love", "enjoy", "prefer", "hate", "visited"), _LIKE, _make_like),
    ((" of ", " for "), _OF, _make_of),
    ((" is ", " are "), _IS, _make_thing),
    (("=", ":"), _EQUALS, _make_equals),
)
