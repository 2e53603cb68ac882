"""The page of metrics, as Prometheus reads it."""

from __future__ import annotations

from functools import cache

import httpx
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from neurigraph_pipelines.wiring.installation import Installation


def scrape(address: str, installation: Installation) -> str:
    """Read the page with its token."""
    headers = {"Authorization": f"Bearer {installation.secrets.metrics_token()}"}
    page = httpx.get(f"{address}/metrics", headers=headers, timeout=60)
    assert page.status_code == 200, page.text
    return page.text


@cache
def samples_of(page: str) -> list[Sample]:
    return [sample for family in text_string_to_metric_families(page) for sample in family.samples]


def value_of(page: str, name: str, /, **labels: str) -> float:
    """The sum of the samples of a name that have these labels; 0 if there is none."""
    found = [one for one in samples_of(page) if one.name == name and labels.items() <= one.labels.items()]
    return sum(one.value for one in found)


def names_of(page: str) -> set[str]:
    """Every name that a query may use, with and without samples."""
    endings = {"counter": ("_total",), "gauge": ("",), "summary": ("_sum", "_count"),
               "histogram": ("_bucket", "_sum", "_count")}  # fmt: skip
    return {
        family.name + ending
        for family in text_string_to_metric_families(page)
        for ending in endings.get(family.type, ("",))
    }
