"""Collectors that read when Prometheus scrapes: the figures of the database, and the search caches of this process.

Labels are closed vocabularies: a value that is in none of them becomes ``other``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

import neurigraph_pipelines
from neurigraph_pipelines.ingestion.figures import Figure, Figures
from neurigraph_pipelines.ingestion.readiness import SENSORS
from neurigraph_pipelines.model import CompressionState, SourceKind
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.query.caching import search_caches

OTHER = "other"
KINDS = frozenset(kind.value for kind in SourceKind)
STEPS = frozenset({"read_uploads", "assign_nodes", "summarize", "extract_keywords", "embed", "commit", "run"})
STATES = frozenset(state.value for state in CompressionState)
BEATS = frozenset({*SENSORS, "readiness", "storage_report"})
QUEUE = frozenset({"due", "retry", "leased"})
PARTS = frozenset({"tables", "indexes", "dagster"})
CACHES = ("answers", "nodes", "graphs", "watches")


class _Shown(NamedTuple):
    """How the figures of one name are shown: type, help, and the vocabulary of each label."""

    family: type[CounterMetricFamily] | type[GaugeMetricFamily]
    text: str
    labels: tuple[tuple[str, frozenset[str]], ...] = ()


_KIND, _STEP, _STATE = ("kind", KINDS), ("step", STEPS), ("state", STATES)
_COUNTER, _GAUGE = CounterMetricFamily, GaugeMetricFamily

_SHOWN = {
    "stored_segments": _Shown(_COUNTER, "Segments stored: whole conversations, events and files, or parts.", (_KIND,)),
    "stored_records": _Shown(_COUNTER, "Records stored.", (_KIND,)),
    "stored_passages": _Shown(_COUNTER, "Passages stored.", (_KIND,)),
    "stored_tokens": _Shown(_COUNTER, "Tokens of stored segments.", (_KIND,)),
    "failed_segments": _Shown(_COUNTER, "Segments given up by the pipeline, by the step that failed.", (_STEP,)),
    "retried_segments": _Shown(_COUNTER, "Segments returned to the queue, by the step that failed.", (_STEP,)),
    "failures_open": _Shown(_GAUGE, "Failures that wait for a person: `source failure list`.", (_KIND, _STEP)),
    "queue_segments": _Shown(_GAUGE, "Segments in the queue.", (("state", QUEUE),)),
    "queue_age_seconds": _Shown(_GAUGE, "Seconds for which the oldest due segment has waited to be stored."),
    "queue_held": _Shown(_GAUGE, "1 while nothing is leased, because a model provider refuses the account."),
    "uploads_waiting": _Shown(_GAUGE, "Uploads whose text has not been read yet."),
    "pending_embeddings": _Shown(_GAUGE, "Records that wait for their vectors."),
    "pending_embeddings_age_seconds": _Shown(_GAUGE, "Seconds for which the oldest of these has waited."),
    "heartbeat_age_seconds": _Shown(_GAUGE, "Seconds since a sensor or a report last ran.", (("name", BEATS),)),
    "files": _Shown(_GAUGE, "Files by state, at the last storage report.", (_STATE,)),
    "object_bytes": _Shown(_GAUGE, "Bytes of objects by the state of their file, at that report.", (_STATE,)),
    "users": _Shown(_GAUGE, "Users."),
    "active_users": _Shown(_GAUGE, "Users one of whose keys was used in the last 24 hours."),
    "records": _Shown(_GAUGE, "Records of all users."),
    "passages": _Shown(_GAUGE, "Passages of all users."),
    "nodes": _Shown(_GAUGE, "Nodes by the state of their files.", (_STATE,)),
    "database_bytes": _Shown(_GAUGE, "Size of the database on disk."),
    "relation_bytes": _Shown(
        _GAUGE, "Size of tables and indexes at their last vacuum, and of Dagster's database.", (("part", PARTS),)
    ),
}  # fmt: skip


class FigureCollector(Collector):
    """The figures of one installation."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """Yield the counts of the database, and whether it could be asked."""
        found = self._figures.newest()
        up = GaugeMetricFamily("neurigraph_figures_up", "1 if the counts of the database are here, else 0.")
        up.add_metric([], float(any(figure.name == "queue_age_seconds" for figure in found)))
        yield up
        for name, shown in _SHOWN.items():
            yield _family(name, shown, [figure for figure in found if figure.name == name])
        yield _step_seconds(found)


class CacheCollector(Collector):
    """The search caches of this process."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def collect(self) -> Iterator[Metric]:
        """Yield hits, misses and sizes."""
        caches = search_caches(self._context)
        lookups = CounterMetricFamily(
            "neurigraph_search_cache_lookups", "Values found in a search cache, and values made for it.",
            labels=("cache", "result"),
        )  # fmt: skip
        entries = GaugeMetricFamily("neurigraph_search_cache_entries", "Values in a search cache.", labels=("cache",))
        size = GaugeMetricFamily("neurigraph_search_cache_bytes", "Bytes of a search cache.", labels=("cache",))
        for name in CACHES:
            one = getattr(caches, name)
            lookups.add_metric((name, "hit"), one.hits)
            lookups.add_metric((name, "miss"), one.misses)
            entries.add_metric((name,), one.entries)
            if name in ("nodes", "graphs"):
                size.add_metric((name,), one.size)
        yield from (lookups, entries, size)


def installation_registry(context: Context) -> CollectorRegistry:
    """Return the metrics of one installation that are read at a scrape."""
    registry = CollectorRegistry()
    registry.register(FigureCollector(Figures(context)))
    registry.register(CacheCollector(context))
    registry.register(_Build())
    return registry


class _Build(Collector):
    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily("neurigraph_build_info", "The running version.", labels=("version",))
        build.add_metric((neurigraph_pipelines.__version__,), 1.0)
        yield build


def _family(name: str, shown: _Shown, found: Sequence[Figure]) -> Metric:
    labels = [label for label, _ in shown.labels]
    family = shown.family(f"neurigraph_{name}", shown.text, labels=labels)
    sums: dict[tuple[str, ...], float] = {}
    for figure in found:
        given = (figure.label, figure.detail)
        values = tuple(
            value if value in known else OTHER for value, (_, known) in zip(given, shown.labels, strict=False)
        )
        sums[values] = sums.get(values, 0.0) + figure.value
    for values, total in sums.items():
        family.add_metric(values, total)
    return family


def _step_seconds(found: Sequence[Figure]) -> Metric:
    family = SummaryMetricFamily(
        "neurigraph_ingestion_step_seconds", "Seconds that a step of the pipeline took, and its segments.",
        labels=("step",),
    )  # fmt: skip
    by_name = {(figure.name, figure.label): figure.value for figure in found}
    for step in sorted(STEPS):
        if ("step_segments", step) in by_name:
            count, seconds = by_name["step_segments", step], by_name.get(("step_seconds", step), 0.0)
            family.add_metric((step,), int(count), seconds)
    return family
