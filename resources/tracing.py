"""Traces of this process to an OpenTelemetry collector, by OTLP over HTTP: everything that ``measuring`` reports.

Spans have names, classes of errors and attributes of closed vocabularies, and never text: exceptions are not recorded,
because their messages may quote what somebody wrote.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from multiprocessing.util import Finalize

from opentelemetry.context import Context, attach, detach
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.re import parse_env_headers

from neurigraph_pipelines.model.measuring import Attribute, listen

_NANOSECONDS = 1_000_000_000
_REQUEST = "http.request"
_SERVER_ERROR = 500
_PATH = "/v1/traces"


@dataclass(frozen=True, slots=True)
class _Begun:
    """A span that is under way, and the token that restores the span around it."""

    span: Span
    token: object


class Tracer:
    """A ``measuring.Listener`` that makes spans.

    Args:
        endpoint: Base address of the collector.
        headers: Headers of its requests, as ``name=value,name=value``.
        service: Name of this service.
        version: Its version.
    """

    def __init__(self, endpoint: str, headers: str | None, service: str, version: str) -> None:
        resource = Resource.create({"service.name": service, "service.version": version})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(
            endpoint.rstrip("/") + _PATH, headers=parse_env_headers(headers, liberal=True) if headers else None
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("neurigraph", version)
        self._propagator = TraceContextTextMapPropagator()

    def begin(self, name: str, parent: str | None) -> _Begun:
        """Begin a span below that of the caller or of the block around."""
        around: Context | None = self._propagator.extract({"traceparent": parent}) if parent else None
        kind = SpanKind.SERVER if name == _REQUEST else SpanKind.INTERNAL
        begun = self._tracer.start_span(name, around, kind)
        return _Begun(begun, attach(set_span_in_context(begun)))

    def end(
        self,
        name: str,
        begun: object,
        seconds: float,
        attributes: Mapping[str, Attribute],
        error: type[BaseException] | None,
    ) -> None:
        """End a span."""
        assert isinstance(begun, _Begun)
        detach(begun.token)  # type: ignore[arg-type]
        if name == _REQUEST:
            begun.span.update_name(f"{attributes['http.request.method']} {attributes['http.route']}")
            if int(attributes["http.response.status_code"]) >= _SERVER_ERROR:
                begun.span.set_status(Status(StatusCode.ERROR))
        begun.span.set_attributes(dict(attributes))
        if error is not None:
            begun.span.set_attribute("error.type", error.__name__)
            begun.span.set_status(Status(StatusCode.ERROR))
        begun.span.end()

    def done(self, name: str, seconds: float, attributes: Mapping[str, Attribute]) -> None:
        """Make a span of a block that has just ended."""
        ended = time.time_ns()
        summary = attributes.get("db.query.summary")
        span = self._tracer.start_span(
            f"postgres {summary}" if summary else name,
            kind=SpanKind.CLIENT,
            attributes=dict(attributes),
            start_time=ended - int(seconds * _NANOSECONDS),
        )
        span.end(ended)

    def report(self, event: str, values: Mapping[str, float]) -> None:
        """Counts are for metrics."""

    def close(self) -> None:
        """Send the rest."""
        self._provider.shutdown()


@cache
def trace_process(endpoint: str, headers: str | None, service: str, version: str) -> Callable[[], None]:
    """Trace this process until it ends; return a function that ends it earlier. Further calls change nothing."""
    tracer = Tracer(endpoint, headers, service, version)
    stop = listen(tracer)

    def close() -> None:
        stop()
        tracer.close()
        trace_process.cache_clear()

    # Unlike atexit, this also runs at the end of a process of multiprocessing, such as one of Dagster's runs.
    return Finalize(None, close, exitpriority=0)
