"""Settings of the database, the object store and S3."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator

from neurigraph_pipelines.settings.group import group

SIMPLE_CHECKSUMS = {
    "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
    "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
}
"""Variables for clients that others make: many servers do not support the newest checksums."""


class DatabaseSettings(BaseModel):
    """The Postgres server and the connections to it."""

    model_config = group("DATABASE_")

    url: SecretStr | None = Field(
        default=None,
        description="Postgres 15 or newer with pgvector 0.7 or newer, as a user who may create roles and databases. "
        "Unset: the embedded server is started on demand.",
    )
    replica_url: SecretStr | None = Field(
        default=None,
        description="A streaming standby of this server, which searches read from; the user is ignored "
        "(docs/scaling.md). Unset: searches read from the server.",
    )
    replica_lag_seconds: float = Field(
        default=5.0,
        gt=0,
        description="Searches read from the server while the standby is further behind, or does not answer.",
    )
    pool_size: int = Field(default=4, ge=1, le=100, description="Connections that a process keeps in each role.")
    wait_seconds: float = Field(
        default=10.0, gt=0, description="Longest wait of one request for these connections while all are in use."
    )
    statement_timeout_seconds: float = Field(
        default=30.0,
        gt=0,
        validation_alias="NEURIGRAPH_STATEMENT_TIMEOUT_SECONDS",
        description="Longest time that a statement of a face may take.",
    )


class ObjectSettings(BaseModel):
    """The store of raw files."""

    model_config = group()

    url: str | None = Field(
        default=None,
        validation_alias="NEURIGRAPH_OBJECTS_URL",
        description="Where raw files are stored: a folder, or `s3://bucket/prefix` (docs/object-storage.md). "
        "Unset: `objects` in the home folder.",
    )
    encryption: bool = Field(
        default=False,
        validation_alias="NEURIGRAPH_ENCRYPTION",
        description="Whether raw files are encrypted, with a key for each graph (docs/object-storage.md).",
    )
    master_key_command: SecretStr | None = Field(
        default=None,
        validation_alias="NEURIGRAPH_MASTER_KEY_COMMAND",
        description="Command that prints the master key, which wraps the keys of graphs; it runs without a shell. "
        "Unset: `master_key` in the home folder, generated once.",
    )
    gzip_level: int = Field(default=6, ge=1, le=9, description="Compression level of stored text.")
    gzip_member_bytes: int = Field(
        default=32_768, ge=1_024, description="Bytes of text in one gzip member, which opening a passage reads."
    )


class S3Settings(BaseModel):
    """S3, for the object store and for the drop place."""

    model_config = group("S3_")

    endpoint_url: str | None = Field(
        default=None, description="Address of a server that speaks S3. Unset: Amazon's own."
    )
    region: str | None = Field(
        default=None, description="Region of the bucket. Unset: the one that boto3 finds in the environment."
    )
    access_key_id: str | None = Field(
        default=None,
        description="Access key. Unset: as boto3 finds it in the environment, its configuration or the machine's role.",
    )
    secret_access_key: SecretStr | None = Field(default=None, description="Secret of the access key.")
    max_attempts: int = Field(
        default=5, ge=1, le=10, description="Attempts at a request, the first included, with backoff and jitter."
    )
    connect_timeout_seconds: float = Field(
        default=5.0, gt=0, description="Seconds to wait for a connection; runs wait 60."
    )
    read_timeout_seconds: float = Field(
        default=30.0, gt=0, description="Seconds to wait without receiving a byte; runs wait 60."
    )
    part_bytes: int = Field(
        default=16 << 20,
        ge=5 << 20,
        le=5 << 30,
        description="Larger objects are sent in parts of this size, two of which are in memory at a time. "
        "S3 takes at most 10,000 parts of one object, each of at least 5 MiB.",
    )
    encryption: Literal["AES256", "aws:kms"] | None = Field(
        default=None, description="Encryption at rest to request. Unset: the bucket's default."
    )
    kms_key_id: str | None = Field(
        default=None, description="Key of `aws:kms` encryption. Unset: the account's own key for S3."
    )
    cold_storage_class: Literal["STANDARD_IA", "INTELLIGENT_TIERING", "GLACIER_IR"] | None = Field(
        default=None,
        description="Storage class for dormant objects of 128 KiB and more; each can be read at once. "
        "Unset: they keep their class, which is right for servers without storage classes.",
    )

    @field_validator("cold_storage_class", mode="before")
    @classmethod
    def _readable_at_once(cls, value: object) -> object:
        if value in ("GLACIER", "DEEP_ARCHIVE"):
            raise ValueError(f"{value} takes hours to give an object back: choose GLACIER_IR, which gives it at once")
        return value

    @model_validator(mode="after")
    def _in_pairs(self) -> S3Settings:
        if (self.access_key_id is None) != (self.secret_access_key is None):
            raise ValueError("NEURIGRAPH_S3_ACCESS_KEY_ID and NEURIGRAPH_S3_SECRET_ACCESS_KEY must be set together")
        if self.kms_key_id is not None and self.encryption != "aws:kms":
            raise ValueError("NEURIGRAPH_S3_KMS_KEY_ID needs NEURIGRAPH_S3_ENCRYPTION to be aws:kms")
        return self
