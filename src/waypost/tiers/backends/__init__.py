"""Light backends: notes with a payload, without the machinery of the full store.

``MemoryBackend`` is the protocol; ``InMemoryBackend``, ``JsonFileBackend`` and
``SqliteItemBackend`` implement it and are held to one contract suite. Use them
for scratch space of your own. The tier stores proper are views of the one store.
"""

from waypost.tiers.backends.in_memory import InMemoryBackend
from waypost.tiers.backends.json_file import JsonFileBackend
from waypost.tiers.backends.protocol import ITEM_FIELDS, MemoryBackend
from waypost.tiers.backends.sqlite import SqliteItemBackend

__all__ = [
    "ITEM_FIELDS",
    "InMemoryBackend",
    "JsonFileBackend",
    "MemoryBackend",
    "SqliteItemBackend",
]
