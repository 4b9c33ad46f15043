"""Errors as first-class records: signatures, patterns, and what they say about what to do next."""
