"""Prometheus metrics of the service, in a registry of their own.

Counters and histograms are fed by the dispatcher; figures about the stored data
(memories, queues, compression) are read from the database when someone looks,
at most every few seconds. Labels never hold agents, ids or texts: their number of
values is fixed. With several workers the counters of all of them are added up
through the directory that ``PROMETHEUS_MULTIPROC_DIR`` names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from waypost.service.observe import Observation, Observer

if TYPE_CHECKING:
    from waypost.service.figures import Figure

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """What a running service counts."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        own = self._registry
        self.calls = Counter(
            "waypost_rpc_calls", "Calls by method and outcome code (0 is success).",
            ["method", "code"], registry=own,
        )  # fmt: skip
        self.seconds = Histogram(
            "waypost_rpc_seconds",
            "Time to answer a call.",
            ["method"],
            buckets=_SECONDS,
            registry=own,
        )
        self.degraded = Counter(
            "waypost_degraded",
            "Answers that could use only part of the memory.",
            ["method"],
            registry=own,
        )
        self.refused = Counter(
            "waypost_http_refused", "Requests refused before dispatch, by status.",
            ["status"], registry=own,
        )  # fmt: skip
        self.cancelled = Counter(
            "waypost_http_cancelled",
            "Requests given up because the client went away.",
            registry=own,
        )
        self.embedding_cache = Counter(
            "waypost_embedding_cache", "Texts looked up before they are embedded.",
            ["outcome"], registry=own,
        )  # fmt: skip
        self.in_progress = Gauge(
            "waypost_http_in_progress", "Requests in progress.",
            multiprocess_mode="livesum", registry=own,
        )  # fmt: skip

    def count(self, seen: Observation) -> None:
        method = seen.method or "unknown"
        self.calls.labels(method, str(seen.code)).inc()
        self.seconds.labels(method).observe(seen.seconds)
        if seen.degraded:
            self.degraded.labels(method).inc()

    def count_lookup(self, hits: int, misses: int) -> None:
        """Texts whose vectors were remembered, and those that had to be embedded."""
        self.embedding_cache.labels("hit").inc(hits)
        self.embedding_cache.labels("miss").inc(misses)

    def render(self, figures: list[Figure]) -> bytes:
        """The exposition text: what was counted, then what the database says."""
        about_data = CollectorRegistry()
        about_data.register(_Figures(figures))
        return generate_latest(self._counted()) + generate_latest(about_data)

    def _counted(self) -> CollectorRegistry:
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return self._registry
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return together


class _Figures(Collector):
    def __init__(self, figures: list[Figure]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for figure in self._figures:
            family = GaugeMetricFamily(figure.name, figure.help, labels=figure.labels)
            for values, number in figure.samples:
                family.add_metric(values, number)
            yield family


class CountingObserver(Observer):
    """Feeds the metrics. Kept apart from them so that tests can read the numbers."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def finished(self, seen: Observation) -> None:
        self._metrics.count(seen)
