"""Settings of the HTTP API and its readiness, of access tokens, of the Dagster UI and of failure reports."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from neurigraph_pipelines.settings.group import group


def split_names(value: object) -> object:
    """Return the names in a text with commas between them; other values as they are."""
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


class JwtSettings(BaseModel):
    """Tokens of another service, accepted in place of API keys (docs/access.md)."""

    model_config = group("JWT_")

    audience: str | None = Field(
        default=None,
        min_length=1,
        description="`aud` of the tokens that are accepted in place of API keys (docs/access.md).",
    )
    issuer: str | None = Field(default=None, min_length=1, description="`iss` of these tokens.")
    secret: SecretStr | None = Field(
        default=None,
        min_length=32,
        description="Secret shared with an issuer that signs by HS256; at least 32 characters. Unset: HS256 tokens "
        "are rejected.",
    )
    jwks_url: str | None = Field(
        default=None,
        description="Address (https) of the key set of an issuer that signs by RS256. Unset: RS256 tokens are "
        "rejected.",
    )
    jwks_seconds: float = Field(
        default=300.0,
        gt=0,
        description="Seconds for which a fetched key set is cached; a withdrawn key stays valid as long.",
    )
    leeway_seconds: float = Field(
        default=10.0, ge=0, le=300, description="Allowed difference between the issuer's clock and ours, in seconds."
    )
    most_seconds: float = Field(
        default=86_400.0,
        gt=0,
        description="Longest remaining lifetime of an accepted token, in seconds: tokens cannot be revoked.",
    )

    @model_validator(mode="after")
    def _meant_for_this_service(self) -> JwtSettings:
        if (self.secret or self.jwks_url) and not (self.audience and self.issuer):
            raise ValueError(
                "set NEURIGRAPH_JWT_AUDIENCE and NEURIGRAPH_JWT_ISSUER: "
                "without them a token signed for another service would be accepted"
            )
        return self


class ApiSettings(BaseModel):
    """The HTTP API."""

    model_config = group("API_")

    host: str = Field(default="127.0.0.1", description="Address that the HTTP API listens on.")
    port: int = Field(default=8400, ge=0, le=65535, description="Port of the HTTP API.")
    url: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s?#]+$",
        description="Address under which agents reach the API, such as `https://memory.example.com`, for the metadata "
        "of `/mcp`. Unset: that of the request.",
    )
    key: SecretStr | None = Field(
        default=None,
        description="API key or token of the agent that `neurigraph mcp` serves. Unset: it serves the owner of the "
        "graph, as every command does.",
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Names, with commas between them, under which agents may reach `/mcp`, such as "
        "`memory.example.com`. Always allowed: `localhost` and loopback addresses. Unset: also every name, except on "
        "loopback.",
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Origins, with commas between them, of pages whose scripts may call the API with a key, such as "
        "`https://app.example.com`. Unset: only pages of the API itself.",
    )
    requests_per_minute: float = Field(
        default=6_000.0,
        gt=0,
        description="HTTP requests of one key in a minute; after a pause as many may come at once. "
        "Each process counts separately: divide the limit among them.",
    )
    concurrent_requests: int = Field(default=200, ge=1, description="HTTP requests that a process handles at one time.")
    connections: int = Field(default=500, ge=1, description="Connections to one process of the HTTP API.")
    client_seconds: float = Field(
        default=30.0,
        gt=0,
        description="Seconds for a client to send the head of a request, to begin its body, or to read some of an "
        "answer.",
    )
    idempotency_hours: float = Field(
        default=24.0,
        gt=0,
        le=720,
        description="Hours for which a request with an `Idempotency-Key` may be repeated (docs/api.md).",
    )

    @field_validator("allowed_hosts", "allowed_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return split_names(value)

    @field_validator("allowed_origins")
    @classmethod
    def _are_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            if re.fullmatch(r"https?://[^/\s*]+", one) is None:
                raise ValueError(f"{one!r} is no origin: write it as https://app.example.com")
        return value


class ReadinessSettings(BaseModel):
    """When `/readyz` says that the service is not ready, and when writes say that memory lags (docs/reliability.md)."""

    model_config = group("READY_")

    sensor_seconds: float = Field(
        default=180.0,
        ge=0,
        description="Seconds without a tick of a sensor after which `/readyz` answers 503. 0: not checked, for an "
        "installation that stores by `neurigraph ingest`.",
    )
    queue_seconds: float = Field(
        default=3_600.0,
        ge=0,
        description="Seconds that a segment may wait to be stored before `/readyz` answers 503. 0: not checked.",
    )
    free_bytes: int = Field(
        default=100_000_000,
        ge=0,
        description="Free bytes on the disk of the home folder below which `/readyz` answers 503.",
    )
    lag_notice_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Seconds that the caller's oldest segment may wait before answers to writes say so, in the headers "
        "`Neurigraph-Lag` and `Retry-After`.",
    )
    lag_refuse_seconds: float | None = Field(
        default=None,
        gt=0,
        description="Seconds of waiting from which further writes of the same user are refused with 503. Unset: never.",
    )


class UiSettings(BaseModel):
    """The Dagster UI."""

    model_config = group("UI_")

    host: str = Field(default="127.0.0.1", description="Address that the Dagster UI listens on.")
    port: int = Field(default=3000, ge=0, le=65535, description="Port of the Dagster UI.")
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Names, with commas between them, under which browsers may reach the Dagster UI, such as "
        "`dagster.example.com`. Always allowed: `localhost` and loopback addresses.",
    )

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return split_names(value)


class WebhookSettings(BaseModel):
    """Webhooks of users (docs/peers.md)."""

    model_config = group("WEBHOOK_")

    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Hosts that users' webhooks may call over https, with commas between them: `hooks.example.com`, "
        "`*.example.com` for all below it, or `*`. Unset: webhooks are off.",
    )
    local_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Hosts that they may call over http too, and at addresses that are not public, such as "
        "`127.0.0.1`; never link-local ones.",
    )
    timeout_seconds: float = Field(default=10.0, gt=0, le=30.0, description="Seconds that one message may take.")
    concurrency: int = Field(default=8, ge=1, le=64, description="Messages that a process sends at one time.")
    kept_days: float = Field(
        default=30.0, gt=0, description="Days for which finished deliveries are listed and can be sent again."
    )

    @field_validator("hosts", "local_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return split_names(value)


class PeerSettings(BaseModel):
    """Other installations whose nodes are mirrored (docs/peers.md)."""

    model_config = group("PEER_")

    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Hosts of other installations that may be pulled over https, with commas between them: "
        "`memory.example.com`, `*.example.com` for all below it, or `*`. Unset: no peer is pulled.",
    )
    local_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Hosts that may be pulled over http too, and at addresses that are not public, such as "
        "`127.0.0.1`; never link-local ones.",
    )
    timeout_seconds: float = Field(default=60.0, gt=0, le=600.0, description="Seconds that one request may take.")

    @field_validator("hosts", "local_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return split_names(value)


class WebSettings(BaseModel):
    """Web pages and repositories that users name (docs/uploads.md)."""

    model_config = group("WEB_")

    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Hosts from which users may have pages fetched over https, with commas between them: "
        "`www.example.com`, `*.example.com` for all below it, or `*`. Unset: no page is fetched.",
    )
    local_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Hosts from which they may be fetched over http too, and at addresses that are not public, such as "
        "`127.0.0.1`; never link-local ones.",
    )
    timeout_seconds: float = Field(
        default=20.0, gt=0, le=120.0, description="Seconds that one page may take, with its redirects."
    )
    page_bytes: int = Field(default=20_000_000, ge=1_000, le=1_000_000_000, description="Largest page, in bytes.")
    repository_seconds: float = Field(
        default=60.0, gt=0, le=600.0, description="Seconds that fetching one repository may take, with its redirects."
    )
    repository_bytes: int = Field(
        default=100_000_000,
        ge=1_000,
        le=1_000_000_000,
        description="Largest repository, in bytes as its server packs it, without its history.",
    )
    repository_files: int = Field(
        default=2_000, ge=1, le=100_000, description="Most files that are read of one repository."
    )

    @field_validator("hosts", "local_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return split_names(value)


class FailureWebhookSettings(BaseModel):
    """Reports of failed runs."""

    model_config = group("FAILURE_WEBHOOK_")

    url: SecretStr | None = Field(
        default=None,
        description="Address to which a failed run is reported by HTTP POST (docs/operation.md). Unset: only logged.",
    )
    timeout_seconds: float = Field(
        default=10.0,
        gt=0,
        le=11.0,
        description="Seconds that one report may take, retries included; a sensor tick of a minute sends five.",
    )
