"""Short ids for content items, made so that a model can copy them without mistakes.

An id looks like ``c-k7m2x``: a prefix, four characters or more that name the item within its
run, and one check character. The alphabet has 31 characters, a prime number, and none that is
read for another (no 0, 1, i, l, o); the weighted check character therefore catches every single
wrong character and every swap of two neighbours. Upper case is read as lower case.

Neighbouring items get ids that do not look alike, and two runs rarely share one.
"""

from __future__ import annotations

import hashlib

from waypost.exceptions import InvalidInput

PREFIX = "c-"

_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
_BASE = len(_ALPHABET)
_LENGTH = 4
# Odd steps that share no factor with 31 visit every number once before one comes again.
_STRIDE = 611_953


def content_id(run_id: str, number: int) -> str:
    """Return the id of the ``number``-th item (from 0) of a run."""
    length = _length_for(number)
    space = _BASE**length
    seed = int.from_bytes(hashlib.sha256(run_id.encode("utf-8", "surrogatepass")).digest()[:8])
    value = (seed + number * _STRIDE) % space
    body = _digits(value, length)
    return PREFIX + body + _check(body)


def normalise_id(text: str) -> str:
    """Return an id as it is stored, or say what is wrong with it.

    Quotes, brackets, spaces, upper case and a missing prefix are forgiven: models add and
    drop them. A wrong character is not.
    """
    bare = text.strip().strip("[](){}<>\"'`.,:; ").lower()
    body = bare[len(PREFIX) :] if bare.startswith(PREFIX) else bare
    unknown = sorted(set(body) - set(_ALPHABET))
    if len(body) <= _LENGTH or unknown:
        raise InvalidInput(
            f"{text!r} is not a content id; one looks like {content_id('', 0)}, "
            "copied from a citation",
            content_id=text,
        )
    if _check(body[:-1]) != body[-1]:
        raise InvalidInput(
            f"{text!r} has a wrong character: its check character does not fit; "
            "copy the id from the citation again",
            content_id=text,
        )
    return PREFIX + body


def _length_for(number: int) -> int:
    length = _LENGTH
    while number >= _BASE**length:
        number -= _BASE**length
        length += 1
    return length


def _digits(value: int, length: int) -> str:
    characters = []
    for _ in range(length):
        value, rest = divmod(value, _BASE)
        characters.append(_ALPHABET[rest])
    return "".join(characters)


def _check(body: str) -> str:
    total = sum((place + 2) * _ALPHABET.index(char) for place, char in enumerate(body))
    return _ALPHABET[total % _BASE]
