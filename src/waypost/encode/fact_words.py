"""Which words make a statement a fact with one value, and how its parts are spelled."""

from __future__ import annotations

import re

_ARTICLES = frozenset(("a", "an", "the", "my", "our", "current", "new", "latest", "updated", "own"))
_SPELLING = {
    "favourite": "favorite", "colour": "color", "flavour": "flavor", "centre": "center",
    "neighbour": "neighbor", "organisation": "organization", "licence": "license",
}  # fmt: skip

# Words that cannot be part of the name of a thing: pronouns, verbs, connectives.
_NOT_A_NAME = frozenset(
    """
    - – & in of on at from it this that these those there here what which who whom whose where
    when why how he she they we you i me him her them us his hers its their your yours mine one
    ones thing things something anything everything nothing someone anyone everyone everybody is
    are was were be been being has have had do does did not no and or but so because as than
    then just also very too really only same other another such more most less least best worst
    biggest hardest first second last next rest idea point problem issue question reason goal
    way part fact truth answer trick thought moment result feeling hope plan dream challenge
    good great nice all some any each every both if to with without about while after before
    during since until latter former following main let make made
    """.split()  # noqa: SIM905
)

# Heads that hold one value at a time, so that a plain word is enough as their value.
_WORD_HEADS = frozenset(
    """
    name surname nickname color birthplace job occupation employer role hometown nationality
    username host hostname domain region zone branch default owner maintainer manager boss lead
    database db engine language framework library license provider vendor currency timezone
    encoding mode breed major ceo cto spouse husband wife storage backend cache queue bucket
    """.split()  # noqa: SIM905
)
# Heads that hold one number, date or identifier at a time.
_CONCRETE_HEADS = frozenset(
    """
    age birthday birthdate address email phone number port url uri endpoint version release
    timeout limit quota budget price cost rate fee salary deadline due status location path
    directory folder file filename model format level threshold interval frequency schedule
    capacity height weight length width distance duration temperature speed count total id key
    token var variable flag setting ip balance capital retention ttl replicas workers password
    title type state size
    """.split()  # noqa: SIM905
)
# Alone these name something else in every text: the budget of a trip, of a car, of a month.
_NEEDS_CONTEXT = frozenset(
    """
    favorite language type title total score count url number value size item cost price file id
    name location state format length distance duration speed temperature weight height
    description
    """.split()  # noqa: SIM905
)
# Every order, ticket and invoice has its own: a new one does not correct the last one.
_ONE_OF_MANY = frozenset(("id", "number", "total", "cost", "price", "amount", "fare", "reference"))
_PLURAL_HEADS = frozenset(
    ("hours", "pronouns", "credentials", "coordinates", "replicas", "workers")
)

_CONCRETE = re.compile(
    r"(?:(?:on|in|at|around|about|approximately) )?"
    r"(?:[$€£<>≤≥~]?\d|[A-ZÀ-Þ][\w&'-]|[\"“`]|/?[\w-]+[._/@:][\w-]|[\w-]*\d)"
    r"|(?:true|false|on|off|enabled|disabled|none)$"
)
_CUT = re.compile(
    r",(?!\d{3})|[;(]| [-–—] | (?:but|because|so|which|who|since|instead|rather|while|when|where"
    r"|though|although|unless|until|after|before|as an?|as of|not|and for|is|are|was|were"
    r"|about \d|about a|I|I'm"
    r"|and (?:I|I'm|we|it|it's|he|she|they|the|my|our))\b|[.!] "
)
_NOW = re.compile(r"^(?:now|currently) | (?:now|currently|today|again|too|already)$")
_LIST = re.compile(r"\d+, \d+(?:,| and)")
_NO_VALUE = re.compile(
    r"[\[{<]|(?:not|a|an|so|very|really|pretty|quite|too|more|less|such|like|always|never|all|just"
    r"|to|that|this|these|what|how|why|where|when|one|some|my|your|his|her|their|our|being"
    r"|\w+ing|\w+ly|also|from|after|(?!enabled|disabled)\w{4,}ed"
    r"|definitely|still|up|down|out|over|back|great|good|fine|done|ready|here|there|below|above"
    r"|important|amazing|awesome|perfect|relatively|best|worst|open|closed|I|I'm|you|You've|it"
    r"|it's|we|based)\b",
)


def normalize_phrase(phrase: str) -> str | None:
    """Spell a name in its one form; None for what is no name: a pronoun, half a sentence."""
    words = [_SPELLING.get(word, word) for word in phrase.lower().split()]
    while words and words[0] in _ARTICLES:
        words.pop(0)
    if not words or words == ["key"] or not _NOT_A_NAME.isdisjoint(words):
        return None
    return " ".join(words).strip(".-/") or None


def trim_value(value: str) -> str | None:
    """Cut a value where the statement goes on to something else; None when none is left."""
    if _LIST.match(value):
        return None
    cut = _CUT.search(value)
    text = (value[: cut.start()] if cut else value).strip(" .!\"'“”`*)")
    return _NOW.sub("", text) or None


def is_concrete(value: str) -> bool:
    """True when the value is a number, a name, an identifier or quoted, not a description."""
    return len(value.split()) <= 6 and _CONCRETE.match(value) is not None


def is_single_valued(head: str, value: str, *, plural: bool = False) -> bool:
    """True when a thing of that name holds one value at a time and this looks like one."""
    words = head.split()
    size = len(value.split())
    if _NO_VALUE.match(value) or (plural and words[-1] not in _PLURAL_HEADS):
        return False
    if words[0] == "favorite" or words[-1] in _WORD_HEADS:
        return size <= 2 or (size <= 5 and (words[0] == "favorite" or is_concrete(value)))
    if words[-1] in _CONCRETE_HEADS or plural:
        return is_concrete(value)
    return size <= 3 and is_concrete(value)


def is_known_head(head: str) -> bool:
    """True when the name itself says that one value at a time is meant."""
    last = head.replace("_", " ").split()[-1]
    return head.startswith("favorite ") or last in _WORD_HEADS or last in _CONCRETE_HEADS


def needs_context(head: str) -> bool:
    """True for a name that means another thing in every text unless a word goes before it."""
    return head in _NEEDS_CONTEXT or head.split()[-1] in _ONE_OF_MANY
