"""Calling models over the network so that their failures stay small.

``retry`` waits and tries again, ``breaker`` stops trying for a while, ``http`` sends a
request through both and is the one place where the HTTP library's errors become ours.
Embedders and chat models lie above; nothing here knows what a request means.
"""

from __future__ import annotations

from waypost.resilience.breaker import CircuitBreaker
from waypost.resilience.retry import RetryPolicy

__all__ = ["CircuitBreaker", "RetryPolicy"]
