"""Waypost: a memory for AI agents that work on long tasks."""

__version__ = "0.1.0"
