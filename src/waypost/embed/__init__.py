"""Embedders: the port and its implementations, loaded when first asked for."""

from __future__ import annotations

from waypost.embed.port import Embedder, EmbeddingCache

__all__ = ["Embedder", "EmbeddingCache"]
