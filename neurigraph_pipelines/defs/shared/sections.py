"""Resources that are sections of the settings: a field that is given overrides a setting, for one run or for all.

No address, key or command is a field: who may launch a run could otherwise send keys and memories to another server.
Each is a ``float`` or a choice, since Dagster lets a text, an ``int`` or a ``bool`` quote the environment
(docs/adr/0039-processes-and-secrets.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Literal

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.settings import list_settings
from neurigraph_pipelines.settings.storage import SIMPLE_CHECKSUMS, S3Settings

_SETTINGS = {f"{setting.group}.{setting.name}": setting for setting in list_settings()}
_AS_SET = "as set"


def _of(name: str, default: object = None) -> Any:
    """Return the field of a setting, by group and name."""
    setting = _SETTINGS[name]
    said = f"{setting.field.description} Not given: as `{setting.variable}` says, else {setting.field.default}."
    return Field(default=default, description=said, json_schema_extra={"setting": name})


class Section(dg.ConfigurableResource["Section"]):
    """A part of the settings. A field that is not given is as the settings say."""

    def given(self) -> Iterator[tuple[str, object]]:
        """Yield the settings that the fields override, by group and name."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if isinstance(field.json_schema_extra, dict) and value not in (None, _AS_SET):
                yield str(field.json_schema_extra["setting"]), value


class PostgresResource(Section):
    """How a run uses Postgres. Its address is `NEURIGRAPH_DATABASE_URL`, or the embedded server's."""

    pool_size: float | None = _of("database.pool_size")
    wait_seconds: float | None = _of("database.wait_seconds")
    statement_timeout_seconds: float | None = _of("database.statement_timeout_seconds")
    replica_lag_seconds: float | None = _of("database.replica_lag_seconds")


class ObjectStoreResource(Section):
    """How a run reads and writes raw files. Their place is `NEURIGRAPH_OBJECTS_URL`, or the home folder."""

    gzip_level: float | None = _of("objects.gzip_level")
    gzip_member_bytes: float | None = _of("objects.gzip_member_bytes")
    part_bytes: float | None = _of("s3.part_bytes")
    max_attempts: float | None = _of("s3.max_attempts")

    def s3_client(self, settings: S3Settings) -> Any:
        """Return the client of a store in S3, by `dagster_aws.s3.S3Resource`; Dagster shows none of its keys."""
        from dagster_aws.s3 import S3Resource

        for name, value in SIMPLE_CHECKSUMS.items():
            os.environ.setdefault(name, value)
        secret = settings.secret_access_key
        return S3Resource(
            endpoint_url=settings.endpoint_url,
            region_name=settings.region,
            aws_access_key_id=settings.access_key_id,
            aws_secret_access_key=secret.get_secret_value() if secret is not None else None,
            max_attempts=0,  # after the first one: the adapter repeats requests, and broken answers too
        ).get_client()


class ModelsResource(Section):
    """How a run calls models. Their names, addresses and keys are settings (docs/models.md)."""

    language_model: Literal["as set", "auto", "openai", "offline"] = _of("models.language_model", _AS_SET)
    context_tokens: float | None = _of("model_calls.context_tokens")
    timeout_seconds: float | None = _of("model_calls.timeout_seconds")
    max_retries: float | None = _of("model_calls.max_retries")
    concurrency: float | None = _of("model_calls.concurrency")
    requests_per_minute: float | None = _of("model_calls.requests_per_minute")
    tokens_per_minute: float | None = _of("model_calls.tokens_per_minute")


class ClockResource(Section):
    """After which time a run takes files for dormant, memories for over and objects for orphans."""

    dormancy_days: float | None = _of("lifecycle.dormancy_days")
    recompress_ttl_minutes: float | None = _of("lifecycle.recompress_ttl_minutes")
    short_tier_hours: float | None = _of("lifecycle.short_tier_hours")
    mid_tier_days: float | None = _of("lifecycle.mid_tier_days")
    action_overdue_hours: float | None = _of("lifecycle.action_overdue_hours")
    orphan_grace_hours: float | None = _of("lifecycle.orphan_grace_hours")


SECTIONS: dict[str, type[Section]] = {
    "postgres": PostgresResource,
    "objects": ObjectStoreResource,
    "models": ModelsResource,
    "clock": ClockResource,
}
"""The sections by the names of their resources."""
