"""The cheapest a hybrid search can be: bare structures, no records, no reasons, no database.

Each is built from the stored rows and answers with ten row numbers: vectors by sign bits and
rescoring, text by SQLite's own FTS5, and, stricter, text by BM25 over plain postings in memory.
Written apart from the library's index, so that it is a yardstick and not an echo.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from Stemmer import Stemmer

from waypost.store.sqlite import driver

BEST = 10
RESCORED = 400
_ACTIVE = "superseded_by IS NULL AND valid_to IS NULL"

Rows = NDArray[np.int64]


def read(database: Path, query: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a query, without waiting for writers."""
    with closing(driver().connect(f"file:{database}?mode=ro", uri=True)) as connection:
        yield from connection.execute(query)


class VectorFloor:
    """Hamming distance of sign bits over all rows, then the exact measure for a few hundred."""

    def __init__(self, database: Path) -> None:
        query = (
            f"SELECT row_id, vector FROM embeddings JOIN memories USING (row_id) WHERE {_ACTIVE}"
        )
        numbers, blobs = zip(*read(database, f"{query} ORDER BY row_id"), strict=True)
        self._rows = np.array(numbers, np.int64)
        self._half = np.frombuffer(b"".join(blobs), "<f2").reshape(len(blobs), -1)
        self._bits = np.ascontiguousarray(np.packbits(self._half > 0, axis=1).view(np.uint64).T)

    def search(self, vector: NDArray[np.float32]) -> Rows:
        query = np.packbits(vector > 0).view(np.uint64)
        distance = np.bitwise_count(self._bits[0] ^ query[0])
        distance = distance.astype(np.uint16)
        for mine, word in zip(self._bits[1:], query[1:], strict=True):
            distance += np.bitwise_count(mine ^ word)
        near = np.argpartition(distance, RESCORED)[:RESCORED]
        cosines = self._half[near].astype(np.float32) @ vector
        return self._rows[near[_highest(cosines)]]

    def exact(self, vector: NDArray[np.float32], *, chunk: int = 65_536) -> Rows:
        """The truth: the exact measure for every row."""
        parts = range(0, len(self._half), chunk)
        cosines = [self._half[p : p + chunk].astype(np.float32) @ vector for p in parts]
        return self._rows[_highest(np.concatenate(cosines))]


class TextFloor:
    """BM25 over the stored index terms: one dense pass per term of the question."""

    def __init__(self, database: Path) -> None:
        numbers, lengths, flat = [], [], []
        vocabulary: dict[str, int] = {}
        query = f"SELECT row_id, index_terms FROM memories WHERE {_ACTIVE} ORDER BY row_id"
        for row_id, terms in read(database, query):
            words = terms.split()
            numbers.append(row_id)
            lengths.append(len(words))
            flat.append(np.array([vocabulary.setdefault(w, len(vocabulary)) for w in words], "i4"))
        self._rows = np.array(numbers, np.int64)
        self._vocabulary = vocabulary
        self._norms = 0.9 * (0.5 + 0.5 * np.array(lengths, np.float32) / np.mean(lengths))
        self._norms = self._norms.astype(np.float32)
        self._fill(np.concatenate(flat), np.repeat(np.arange(len(lengths)), lengths))

    def _fill(self, terms: NDArray[np.int32], owners: Rows) -> None:
        keys, counts = np.unique((terms.astype(np.int64) << 32) | owners, return_counts=True)
        self._owners = (keys & 0xFFFFFFFF).astype(np.int64)
        self._counts = counts.astype(np.float32)
        self._starts = np.searchsorted(keys >> 32, np.arange(len(self._vocabulary) + 1))

    def search(self, terms: Sequence[str]) -> Rows:
        scores = np.zeros(len(self._rows), np.float32)
        for term in dict.fromkeys(terms):
            number = self._vocabulary.get(term)
            if number is not None:
                self._add(scores, slice(self._starts[number], self._starts[number + 1]))
        return self._rows[_highest(scores)]

    def _add(self, scores: NDArray[np.float32], run: slice) -> None:
        owners, counts = self._owners[run], self._counts[run]
        idf = np.float32(np.log1p((len(scores) - len(owners) + 0.5) / (len(owners) + 0.5)))
        scores[owners] += idf * 1.9 * counts / (counts + self._norms[owners])


class FtsFloor:
    """SQLite's full-text index, asked for any of the words of a question.

    ``search`` leaves out words that more than a twentieth of the rows have, as anyone would who
    wants an answer soon; ``search_all`` asks for every word.
    """

    def __init__(self, database: Path, file: Path) -> None:
        self._connection = driver().connect(str(file), isolation_level=None)
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute(
            "CREATE VIRTUAL TABLE turns USING fts5(text, content='', tokenize='porter unicode61')"
        )
        self._connection.execute("BEGIN")
        self._connection.executemany(
            "INSERT INTO turns(rowid, text) VALUES (?, ?)",
            read(database, f"SELECT row_id, content FROM memories WHERE {_ACTIVE}"),
        )
        self._connection.execute("COMMIT")
        self._connection.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(turns, row)")
        counts = self._connection.execute("SELECT term, doc FROM terms").fetchall()
        self._owners = dict(counts)
        self._common = self._connection.execute("SELECT max(rowid) FROM turns").fetchone()[0] // 20
        self._stem = Stemmer("porter").stemWord

    def search(self, question: str) -> list[int]:
        words = {word: self._count(word) for word in re.findall(r"\w+", question)}
        rare = [word for word, count in words.items() if count <= self._common]
        return self._any_of(rare or [min(words, key=words.__getitem__)])

    def search_all(self, question: str) -> list[int]:
        return self._any_of(re.findall(r"\w+", question))

    def _count(self, word: str) -> int:
        return self._owners.get(self._stem(word.lower()), 0)

    def _any_of(self, words: Sequence[str]) -> list[int]:
        wanted = " OR ".join(f'"{word}"' for word in words)
        query = "SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT ?"
        return [row[0] for row in self._connection.execute(query, (wanted, BEST))]

    def close(self) -> None:
        self._connection.close()


def _highest(scores: NDArray[np.float32]) -> Rows:
    best = np.argpartition(-scores, BEST)[:BEST]
    return best[np.argsort(-scores[best], kind="stable")]
