"""Data that leaves the machine: its kinds and the hosts that the settings name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from neurigraph_pipelines.settings import Settings

_OPENAI = "https://api.openai.com"
_COHERE = "https://api.cohere.com"
_S3 = "https://s3.amazonaws.com"
_ENCODINGS = "https://openaipublic.blob.core.windows.net"


@dataclass(frozen=True, slots=True)
class Destination:
    """A host that gets data.

    Attributes:
        purpose: What it is used for.
        host: Its name or address, with the port if the address names one.
        data: What it gets.
        is_local: Whether it is this machine.
    """

    purpose: str
    host: str
    data: str
    is_local: bool


def destinations(settings: Settings) -> list[Destination]:
    """Return every host that the settings name, and the data that it gets."""
    return [
        Destination(purpose, _host(address), data, _is_local(address)) for purpose, address, data in _sent(settings)
    ]


def _sent(settings: Settings) -> Iterator[tuple[str, str, str]]:
    models, reranker = settings.models, settings.reranker
    if models.chosen_language_model == "openai":
        data = "whole conversations and files, questions, and the messages that answers rest on"
        yield "language model", models.language_model_url or models.openai_base_url or _OPENAI, data
    embedder = models.chosen_embedder
    if embedder not in ("minilm", "neurigraph"):
        address = models.voyage_base_url if embedder == "voyage" else models.openai_base_url or _OPENAI
        yield "embeddings", address, "the text of every message, every summary and every question"
    chosen = settings.chosen_reranker
    if chosen not in ("none", "language_model"):  # the language model has been named above
        address = {"cohere": _COHERE, "voyage": models.voyage_base_url}.get(chosen, "")
        yield "reranker", reranker.base_url or address, "questions, and the texts found for them"
    if settings.objects.url is not None and settings.objects.url.startswith("s3://"):
        yield "object store", settings.s3.endpoint_url or _S3, "all conversations and files"
    if settings.uploads.drop_url is not None and settings.uploads.drop_url.startswith("s3://"):
        yield "drop place", settings.s3.endpoint_url or _S3, "nothing: files are fetched from it"
    if settings.runs.logs_url is not None:
        yield "logs of runs", settings.s3.endpoint_url or _S3, "what runs print: names of events, ids and counts"
    yield from _operated(settings)


def _operated(settings: Settings) -> Iterator[tuple[str, str, str]]:
    if settings.database.url is not None:
        yield "database", settings.database.url.get_secret_value(), "summaries, keywords, vectors, waiting messages"
    if settings.failure_webhook.url is not None:
        data = "names, ids and counts of failed runs"
        yield "failure webhook", settings.failure_webhook.url.get_secret_value(), data
    for host in (*settings.webhooks.hosts, *settings.webhooks.local_hosts):
        yield "webhooks", f"https://{host}", "names of events, and ids"
    for host in (*settings.peers.hosts, *settings.peers.local_hosts):
        yield "peers", f"https://{host}", "the keys of third parties; memories are fetched from it"
    for host in (*settings.web.hosts, *settings.web.local_hosts):
        yield "web pages", f"https://{host}", "nothing: pages and repositories that users name are fetched from it"
    if settings.jwt.jwks_url is not None:
        yield "keys of tokens", settings.jwt.jwks_url, "nothing: keys are fetched from it"
    if settings.tokens.download:
        yield "token counter", _ENCODINGS, "nothing: an encoding is fetched from it"


def _host(address: str) -> str:
    """Return host and port of an address, without user and password."""
    if "://" not in address:  # a connection string of Postgres
        pairs = dict(pair.partition("=")[::2] for pair in address.split())
        return pairs.get("host", pairs.get("hostaddr", "localhost"))
    parts = urlsplit(address)
    host = parts.hostname or "localhost"
    try:
        port = parts.port
    except ValueError:
        port = None
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{port}" if port else host


def _is_local(address: str) -> bool:
    host = _host(address)
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    try:
        return name == "localhost" or name.startswith("/") or ip_address(name).is_loopback
    except ValueError:
        return False
