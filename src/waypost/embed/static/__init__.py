"""The built-in embedder: a table of word-piece vectors, added up.

``pieces`` cuts text into word pieces, ``embedder`` adds their vectors; the table itself,
``vectors.npz``, is made from wordllama's weights by ``scripts/build_static_vectors.py``
(see NOTICE and docs/decisions/static-embedder.md).
"""

from __future__ import annotations

from waypost.embed.static.embedder import StaticEmbedder

__all__ = ["StaticEmbedder"]
