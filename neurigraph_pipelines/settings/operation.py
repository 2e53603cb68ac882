"""Settings of runs, logs and traces."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import BaseModel, Field, SecretStr

from neurigraph_pipelines.settings.group import group


class RunSettings(BaseModel):
    """Where the runs of Dagster execute, and how many at once."""

    model_config = group()

    broker_url: SecretStr | None = Field(
        default=None,
        validation_alias="NEURIGRAPH_BROKER_URL",
        description="Redis that hands runs to `neurigraph admin worker`, such as `redis://:password@redis:6379/0` "
        "(docs/scaling.md). Unset: the code server starts runs on its own machine.",
    )
    at_once: int = Field(
        default=4,
        ge=3,
        le=1_000,
        validation_alias="NEURIGRAPH_RUNS_AT_ONCE",
        description="Runs that go on at once, in all workers together. One place is always left to ingestion.",
    )
    history_days: int = Field(
        default=90,
        ge=0,
        le=3_650,
        validation_alias="NEURIGRAPH_RUN_HISTORY_DAYS",
        description="Days for which Dagster shows finished runs; those that stored memories or filled days of an asset "
        "stay for ever. 0: all runs stay.",
    )
    first_day: date | None = Field(
        default=None,
        validation_alias="NEURIGRAPH_FIRST_DAY",
        description="First day of Dagster's partitions; it holds all that is older, too. Unset: the day on which the "
        "database was made, or stored its oldest memory.",
    )
    logs_url: str | None = Field(
        default=None,
        pattern=r"^s3://[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+$",
        validation_alias="NEURIGRAPH_RUN_LOGS_URL",
        description="Place of the output of runs: `s3://bucket/prefix`, not within `NEURIGRAPH_OBJECTS_URL`, with "
        "endpoint and keys of S3 as below. Unset: the home folder; the UI shows that of its own machine.",
    )
    code_server: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9.-]+:[0-9]{1,5}$",
        validation_alias="NEURIGRAPH_CODE_SERVER",
        description="Host and port of `neurigraph admin code-server`, for `admin ui` and `admin daemon`. "
        "Unset: each of them starts one of its own.",
    )


class LogSettings(BaseModel):
    """The logs of services."""

    model_config = group("LOG_")

    format: Literal["text", "json"] = Field(
        default="text",
        description="Form of the log lines of `serve`, `up` and the other services: for people, or one JSON object a "
        "line (docs/metrics.md). Dagster's processes keep their own.",
    )


class TelemetrySettings(BaseModel):
    """Traces to an OpenTelemetry collector, under the standard names of OpenTelemetry."""

    model_config = group()

    otlp_endpoint: str | None = Field(
        default=None,
        validation_alias="OTEL_EXPORTER_OTLP_ENDPOINT",
        description="Base address of a collector that takes traces by OTLP over HTTP, such as "
        "`http://localhost:4318` (docs/metrics.md). Unset: nothing is traced, and OpenTelemetry is not loaded.",
    )
    otlp_headers: SecretStr | None = Field(
        default=None,
        validation_alias="OTEL_EXPORTER_OTLP_HEADERS",
        description="Headers for the collector, as `name=value,name=value`.",
    )
    service_name: str = Field(
        default="neurigraph",
        min_length=1,
        validation_alias="OTEL_SERVICE_NAME",
        description="Name under which traces show this service.",
    )
    disabled: bool = Field(
        default=False, validation_alias="OTEL_SDK_DISABLED", description="Switches tracing off, whatever else is set."
    )
