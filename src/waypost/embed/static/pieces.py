"""Cuts text into the word pieces that the vector table knows.

The vocabulary is that of Llama 2: a space is written ``▁`` and belongs to the word after
it, two neighbouring pieces merge when their union is in the vocabulary, the lowest number
first, and a character the vocabulary lacks becomes its UTF-8 bytes.

No piece of the vocabulary crosses from a letter to punctuation or from anything to a
space, so text can be cut at those places first and each part looked up in a bounded
memo: the cost of a word is paid once. Parts are at most a few dozen characters, which
bounds the time for text without spaces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

SPACE = "▁"
FIRST_BYTE = 3
"""The number of the piece for byte 0; the numbers before it mark the ends of a text."""

# A run of spaces but its last, or: a space, punctuation, letters, each optional.
_PART = re.compile(r" {1,15}(?= )| ?[^\w ]{0,16}\w{0,40}")
_MEMO_ENTRIES = 65_536
_NO_MERGE = 1 << 30


class PieceMemo(dict[str, bytes]):
    """From a part of a text to its piece numbers, as little-endian 16-bit integers.

    It starts over when full: texts repeat their words so much that this costs less than
    keeping track of use, and a result never depends on what is remembered.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        super().__init__()
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}

    def pieces(self, text: str) -> bytes:
        """Return the piece numbers of the text; there is always at least one."""
        return b"".join(map(self.__getitem__, _PART.findall(" " + text)))

    def __missing__(self, part: str) -> bytes:
        if len(self) >= _MEMO_ENTRIES:
            self.clear()
        numbers = self._numbers_of(part.replace(" ", SPACE))
        packed = b"".join(number.to_bytes(2, "little") for number in numbers)
        self[part] = packed
        return packed

    def _numbers_of(self, part: str) -> list[int]:
        symbols = self._merged(list(part))
        numbers: list[int] = []
        for symbol in symbols:
            number = self._numbers.get(symbol)
            numbers += [number] if number is not None else _byte_pieces(symbol)
        return numbers

    def _merged(self, symbols: list[str]) -> list[str]:
        get = self._numbers.get
        pairs = [get(left + right, _NO_MERGE) for left, right in pairwise(symbols)]
        while pairs and (lowest := min(pairs)) != _NO_MERGE:
            place = pairs.index(lowest)
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
            del pairs[place]
            if place < len(pairs):
                pairs[place] = get(symbols[place] + symbols[place + 1], _NO_MERGE)
            if place > 0:
                pairs[place - 1] = get(symbols[place - 1] + symbols[place], _NO_MERGE)
        return symbols


def _byte_pieces(symbol: str) -> list[int]:
    return [FIRST_BYTE + byte for byte in symbol.encode("utf-8", "surrogatepass")]
