"""Metrics of this process: HTTP requests, and everything that ``measuring`` reports.

Labels are closed vocabularies.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, GCCollector, Histogram, ProcessCollector, Summary

from neurigraph_pipelines.model.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    RehydratingError,
    UnauthenticatedError,
)
from neurigraph_pipelines.model.measuring import Attribute, listen

_FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Bounds of durations in seconds."""

_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)

RETRIEVALS = ("search", "ask", "open")
STEPS = ("parse", "gather", "select", "load", "rank", "view")
CALLS = (
    *("embed", "expand", "rerank", "plan", "place", "read_segment", "summarize", "merge", "extract_keywords"),
    *("extract_facts", "judge", "answer", "tools"),
)
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
OTHER_METHOD = "_OTHER"
"""As OpenTelemetry calls every other method."""

_OF_THE_CALLER = (
    InvalidInputError, NotFoundError, ForbiddenError, ConflictError, UnauthenticatedError, RehydratingError
)  # fmt: skip

UNMATCHED = "unmatched"
"""The route of a request that no operation takes, or that was refused before its route was looked up."""


class ProcessMeasures:
    """The metrics of one process; a ``measuring.Listener``."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._count_requests()
        self._count_searches()
        self._time_operations()

    def _count_requests(self) -> None:
        self._requests = Counter(
            "neurigraph_http_requests", "HTTP requests by route and class of status.", ("method", "route", "status"),
            registry=self.registry,
        )  # fmt: skip
        self._request_seconds = Histogram(
            "neurigraph_http_request_seconds", "Seconds until an HTTP request was answered, by route.",
            ("method", "route"), buckets=_FAST, registry=self.registry,
        )  # fmt: skip
        self.in_progress = Gauge(
            "neurigraph_http_requests_in_progress", "HTTP requests being handled.", registry=self.registry
        )

    def _count_searches(self) -> None:
        results = Summary(
            "neurigraph_search_results", "Results of a search: their sum and the number of searches.", ("kind",),
            registry=self.registry,
        )  # fmt: skip
        self._results_of = {kind: results.labels(kind) for kind in ("records", "messages")}
        self._reranks = Counter(
            "neurigraph_reranks", "Rerankings by what they changed.", ("effect",), registry=self.registry
        )
        for effect in ("kept", "changed", "changed_first", "failed"):
            self._reranks.labels(effect)
        self._expansions = Counter(
            "neurigraph_expansions", "Questions by what the language model's other wordings did.", ("effect",),
            registry=self.registry,
        )  # fmt: skip
        for effect in ("kept", "changed", "failed"):
            self._expansions.labels(effect)
        self._swapped = Histogram(
            "neurigraph_rerank_swapped_share", "Share of the pairs of results that a reranker put in another order.",
            buckets=_SHARES, registry=self.registry,
        )  # fmt: skip

    def _time_operations(self) -> None:
        retrievals = Histogram(
            "neurigraph_retrieval_seconds", "Seconds of searches, of answers in words (each holds a search), and until "
            "an opened file can be read.", ("operation",), buckets=_FAST, registry=self.registry,
        )  # fmt: skip
        steps = Histogram(
            "neurigraph_search_step_seconds", "Seconds of the steps of a search.", ("step",),
            buckets=_FAST, registry=self.registry,
        )  # fmt: skip
        calls = Histogram(
            "neurigraph_model_call_seconds", "Seconds of calls of models by this process, with their retries.",
            ("call",), buckets=(*_FAST, 30.0, 60.0), registry=self.registry,
        )  # fmt: skip
        self._tokens = Counter(
            "neurigraph_model_tokens", "Tokens that chat models took, as their services count.", ("direction",),
            registry=self.registry,
        )  # fmt: skip
        for direction in ("sent", "received"):
            self._tokens.labels(direction)
        self._tools = Histogram(
            "neurigraph_tool_seconds", "Seconds of calls of tools by agents.", ("tool",),
            buckets=_FAST, registry=self.registry,
        )  # fmt: skip
        self._errors = Counter(
            "neurigraph_errors", "Retrievals, tools and calls of models that ended in an error.", ("where",),
            registry=self.registry,
        )  # fmt: skip
        self._seconds = {
            **{name: retrievals.labels(name) for name in RETRIEVALS},
            **{f"search.{step}": steps.labels(step) for step in STEPS},
            **{f"model.{call}": calls.labels(call) for call in CALLS},
        }
        self._failures = {
            name: self._errors.labels(name.replace(".", "_"))
            for name in self._seconds
            if not name.startswith("search.")
        }

    def begin(self, name: str, parent: str | None) -> object:
        """Nothing is to be done before the end."""

    def end(
        self,
        name: str,
        begun: object,
        seconds: float,
        attributes: Mapping[str, Attribute],
        error: type[BaseException] | None,
    ) -> None:
        """Observe the time of a block that has a metric."""
        histogram = self._seconds.get(name)
        if histogram is not None:
            histogram.observe(seconds)
            if name in self._failures and _is_failure(error):
                self._failures[name].inc()
        elif name.startswith("tool."):
            self._tools.labels(name.removeprefix("tool.")).observe(seconds)
            if _is_failure(error):
                self._errors.labels("tool").inc()

    def done(self, name: str, seconds: float, attributes: Mapping[str, Attribute]) -> None:
        """Statements of the database have no metric of their own."""

    def report(self, event: str, values: Mapping[str, float]) -> None:
        """Count the results of a search, and the changes of an expander and a reranker."""
        if event == "searched":
            for kind, number in values.items():
                self._results_of[kind].observe(number)
        elif event == "reranked":
            self._swapped.observe(values["swapped"])
            changed = "changed" if values["swapped"] else "kept"
            self._reranks.labels("changed_first" if values["first_changed"] else changed).inc()
        elif event == "rerank_failed":
            self._reranks.labels("failed").inc()
        elif event == "expanded":
            self._expansions.labels("changed" if values["wordings"] else "kept").inc()
        elif event == "model_answered":
            for direction, number in values.items():
                self._tokens.labels(direction).inc(number)
        elif event == "expand_failed":
            self._expansions.labels("failed").inc()

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an HTTP request; its method is one of ``METHODS`` or ``OTHER_METHOD``, its route a template."""
        self._requests.labels(method, route, f"{status // 100}xx").inc()
        self._request_seconds.labels(method, route).observe(seconds)


def _is_failure(error: type[BaseException] | None) -> bool:
    """Return whether an error is the service's, not the caller's."""
    return error is not None and not issubclass(error, _OF_THE_CALLER)


_making = threading.Lock()


@cache
def _made() -> ProcessMeasures:
    made = ProcessMeasures()
    listen(made)
    return made


def process_measures() -> ProcessMeasures:
    """Return the metrics of this process, which listen from the first call on."""
    with _making:
        return _made()
