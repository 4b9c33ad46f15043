"""A coding agent over a small repository."""
