"""Made-up conversations of any length: the same ones for the same seed.

Words follow Zipf's law over some 20,000 content words, mixed with function words as in
English. A run is about twenty turns of two speakers on one topic, so that neighbours
belong together; turns name people, numbers, files and dates, and some state a fact. A
question names what is said in one turn only, which is its answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import numpy as np

from waypost.model import NewMemory
from waypost.model.vocabulary import Origin

START = datetime(2025, 1, 6, 8, tzinfo=UTC)
CONTENT_WORDS = 20_000
TURNS_PER_RUN = 20
TOPIC_WORDS = 40
FACT_SHARE = 0.03
_FUNCTION_WORDS = """
    the of and to a in is that it for was on with as at this have from by not but we I you they
    are be or had an which one when there will their what so if can all no more about up out some
    just like into time then now only see could also after first well even want because any these
    """.split()  # noqa: SIM905  (a list of literals would fill the screen)
_SYLLABLES = """
    ba be bo ca co cu da de do fa fe ga go ha he ka ke la le lo ma me mi mo na ne ni no pa pe po
    ra re ri ro sa se si so ta te ti to va ve vi wa ze zo tra pro ster lin gar ment tion der
    """.split()  # noqa: SIM905
_SURNAME_ENDS = ("son", "berg", "mann", "field", "ova", "ez", "sen", "ley")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the number of the turn that answers it."""

    text: str
    answer: int


class Conversations:
    """An endless row of turns; turn ``n`` is always the same one."""

    def __init__(self, seed: int = 7) -> None:
        self._seed = seed
        random = np.random.default_rng(seed)
        self._words = np.array(_content_words(random), dtype=object)
        weights = 1.0 / np.arange(3, CONTENT_WORDS + 3)
        self._cumulated = np.cumsum(weights / weights.sum())
        self._places = {word: place for place, word in enumerate(self._words.tolist())}
        self._names = [_name(random) for _ in range(2_000)]

    def memories(self, count: int) -> Iterator[NewMemory]:
        for run in range(-(-count // TURNS_PER_RUN)):
            first = run * TURNS_PER_RUN
            yield from self._run(run)[: count - first]

    def question(self, turn: int) -> Question:
        """Ask for one turn by the words that are rare in it."""
        memory = self._run(turn // TURNS_PER_RUN)[turn % TURNS_PER_RUN]
        told = dict.fromkeys(re.findall(r"[a-z]+", memory.content))
        known = sorted((w for w in told if w in self._places), key=self._places.__getitem__)
        return Question(f"What did {memory.source} say about {' '.join(known[-4:])}?", turn)

    def _run(self, run: int) -> list[NewMemory]:
        random = np.random.default_rng((self._seed, run))
        speakers = [self._names[i] for i in random.integers(0, len(self._names), 2)]
        topic = self._draw(random, TOPIC_WORDS)
        start = START + timedelta(minutes=17 * run)
        return [
            NewMemory(
                content=self._turn(random, topic),
                source=speakers[number % 2],
                run_id=f"run-{run}",
                timestamp=start + timedelta(seconds=40 * number),
                origin=Origin.USER if number % 2 == 0 else Origin.AGENT,
            )
            for number in range(TURNS_PER_RUN)
        ]

    def _draw(self, random: np.random.Generator, count: int) -> list[str]:
        places = np.searchsorted(self._cumulated, random.random(count))
        words: list[str] = self._words[np.minimum(places, CONTENT_WORDS - 1)].tolist()
        return words

    def _turn(self, random: np.random.Generator, topic: list[str]) -> str:
        if random.random() < FACT_SHARE:
            return f"The {random.choice(topic)} limit is now {random.integers(10, 500)}."
        length = int(np.clip(random.lognormal(3.1, 0.6), 6, 150))
        own = self._draw(random, length)
        dice = random.random(length).tolist()
        picks = random.integers(0, 1 << 30, length).tolist()
        words = []
        for word, die, pick in zip(own, dice, picks, strict=True):
            if die < 0.45:
                word = _FUNCTION_WORDS[pick % len(_FUNCTION_WORDS)]
            elif die < 0.60:
                word = topic[pick % TOPIC_WORDS]
            elif die < 0.66:
                word = self._special(pick)
            words.append(word)
        return _sentences(words, picks)

    def _special(self, pick: int) -> str:
        """A name, a number, an amount or a file."""
        name = self._names[pick % len(self._names)]
        forms = (name, name, str(pick % 900 + 10), f"${pick % 4000}", f"{name.lower()}.py")
        return forms[pick % len(forms)]


def _sentences(words: list[str], picks: list[int]) -> str:
    """Break the words into sentences of about twelve, some of them questions."""
    sentences = []
    start = 0
    while start < len(words):
        end = start + 8 + picks[start] % 9
        sentence = " ".join(words[start:end])
        mark = "?" if picks[start] % 7 == 0 else "."
        sentences.append(sentence[0].upper() + sentence[1:] + mark)
        start = end
    return " ".join(sentences)


def _content_words(random: np.random.Generator) -> list[str]:
    """Words that the embedder knows, commonest first, and made-up ones between them."""
    with files("waypost.embed.static").joinpath("vectors.npz").open("rb") as stream:
        pieces = np.load(stream)["vocabulary"].tobytes().decode().split("\n")
    known = [p[1:] for p in pieces if re.fullmatch("▁[a-z]{4,}", p)]
    made = {
        "".join(_SYLLABLES[i] for i in random.integers(0, len(_SYLLABLES), size))
        for size in random.integers(3, 6, 2 * CONTENT_WORDS)
    }
    rare = sorted(made - set(known))[: CONTENT_WORDS - len(known)]
    random.shuffle(rare)
    return known + rare


def _name(random: np.random.Generator) -> str:
    stem = "".join(_SYLLABLES[i] for i in random.integers(0, len(_SYLLABLES), 2))
    end = _SURNAME_ENDS[int(random.integers(0, len(_SURNAME_ENDS)))]
    return (stem + end).capitalize()
