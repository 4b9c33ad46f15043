"""Spans for OpenTelemetry, when its SDK is installed and an exporter is configured.

The span of a call continues the caller's ``traceparent``. It names the method and
the outcome; agents, ids and texts stay out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from waypost.exceptions import MissingExtra
from waypost.service.caller import Trace
from waypost.service.observe import Observation, Observer


class TracingObserver(Observer):
    """Surrounds each call with a server span."""

    def __init__(self, tracer: Any) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._tracer = tracer
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, seen: Observation, trace: Trace) -> Iterator[None]:
        from opentelemetry.trace import SpanKind

        parent = self._propagator.extract({"traceparent": trace.parent}) if trace.parent else None
        with self._tracer.start_as_current_span(
            seen.method or "unknown",
            context=parent,
            kind=SpanKind.SERVER,
            attributes={"rpc.system": "jsonrpc", "rpc.method": seen.method or "unknown"},
            record_exception=False,
        ):
            yield


def export_spans() -> TracingObserver:
    """Send spans by OTLP to where the standard OTEL_* variables say."""
    try:
        otlp = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise MissingExtra("traces need more packages: pip install 'waypost[otel]'") from None
    provider = TracerProvider(resource=Resource.create({"service.name": "waypost"}))
    provider.add_span_processor(BatchSpanProcessor(otlp.OTLPSpanExporter()))
    return TracingObserver(provider.get_tracer("waypost"))
