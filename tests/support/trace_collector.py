"""A collector of traces on loopback: takes OTLP over HTTP, and decodes what it is sent."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class TraceCollector:
    """The running server.

    Attributes:
        spans: What was received, in order.
        services: The names of the services that sent it.
        raw: The bodies of the requests.
        keys: Their header ``x-key``.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.services: set[str] = set()
        self.raw: list[bytes] = []
        self.keys: set[str | None] = set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector._take(self.path, body, self.headers.get("x-key"))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Keep the output of the tests short."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def parents_of(self, span: Span) -> list[str]:
        """The names of the spans around a span, from the inside."""
        by_id = {one.span_id: one for one in self.spans}
        names = []
        while (around := by_id.get(span.parent_span_id)) is not None:
            names.append(around.name)
            span = around
        return names

    def _take(self, path: str, body: bytes, key: str | None) -> None:
        assert path == "/v1/traces"
        self.raw.append(body)
        self.keys.add(key)
        sent = ExportTraceServiceRequest()
        sent.ParseFromString(body)
        for resource in sent.resource_spans:
            named = {one.key: one.value.string_value for one in resource.resource.attributes}
            self.services.add(named["service.name"])
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)
