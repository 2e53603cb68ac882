"""Settings of the jobs: ingestion, uploads and the lifecycle of files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator, model_validator
from pydantic_settings import NoDecode

from neurigraph_pipelines.settings.group import group


class IngestionSettings(BaseModel):
    """How messages become segments, and segments become records."""

    model_config = group()

    chunk_watch_tokens: int = Field(
        default=480_000, ge=1, description="Unstored tokens from which a conversation is split."
    )
    chunk_target_tokens: int = Field(default=500_000, ge=1, description="Preferred length of a chunk in tokens.")
    chunk_limit_tokens: int = Field(default=620_000, ge=1, description="Longest chunk in tokens.")
    batch_max_segments: int = Field(
        default=100, ge=1, description="Most segments in one run; a run costs one to two seconds."
    )
    batch_max_tokens: int = Field(
        default=1_000_000, ge=1, description="Most tokens in one run, unless a single segment has more."
    )
    large_segment_tokens: int = Field(
        default=100_000,
        ge=1,
        description="Longer segments run alone, at most half of the batches in flight are such, and a local embedder "
        "computes their vectors after they are stored: 100,000 tokens take it about a minute.",
    )
    step_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Processor time of one step for one segment, in seconds, before that of its tokens. A step that "
        "takes longer is left out of this segment's memory, and fails only this segment if it must store it.",
    )
    step_tokens_per_second: int = Field(
        default=1_000,
        ge=1,
        description="Tokens for which a step may take a second more: the slowest usual rate of a local model, so that "
        "the longest segment has eleven minutes.",
    )
    batches_in_flight: int = Field(
        default=4,
        ge=1,
        description="Batches that a sensor leases at one time; more would only wait in Dagster's queue.",
    )
    claim_lease_seconds: int = Field(
        default=900, ge=5, description="Seconds without progress after which the lease on a segment expires."
    )
    max_attempts: int = Field(default=5, ge=1, description="Attempts before a segment becomes a pipeline failure.")
    retry_base_seconds: float = Field(
        default=30.0, gt=0, description="Wait before the second attempt; doubles with each attempt, with jitter."
    )
    facts: bool = Field(default=True, description="Whether stored records are read for facts, in the background.")
    digests: bool = Field(
        default=False,
        description="Whether windows of 7, 30 and 90 days of each node are put into words at night, a call of the "
        "language model for each (docs/history.md). Digests on request need no setting.",
    )
    reconciliation: Literal["auto", "flag"] = Field(
        default="flag",
        description="A fact that a newer one updates: `auto` supersedes it if nothing is in doubt, "
        "`flag` leaves it to a person (docs/facts.md).",
    )
    inbox_retention_days: float = Field(
        default=0.0, ge=0, description="Days that message bodies stay in the inbox after their segment was stored."
    )
    time_zone: str | None = Field(
        default=None,
        description="Time zone of imported times that name none, such as `Europe/Berlin`, unless the import says "
        "another: it decides which day is yesterday. Unset: UTC.",
    )
    unstorable_text: Literal["repair", "reject"] = Field(
        default="repair",
        description="NUL bytes and lone surrogates, which no database stores: replace them by U+FFFD, or reject the "
        "message.",
    )
    max_message_bytes: int = Field(
        default=1_048_576, ge=1_000, description="Longest message that is accepted, in bytes of UTF-8."
    )
    redact: Annotated[tuple[Literal["email", "phone", "card", "key"], ...], NoDecode] = Field(
        default=(),
        description="Kinds of text that are removed from messages and titles before anything is stored, such as "
        "`email,phone,card,key` (docs/forgetting.md). Empty: nothing.",
    )
    redact_phone_region: str | None = Field(
        default=None,
        pattern=r"^[A-Z]{2}$",
        description="Country whose telephone numbers are recognised without their country code, such as `US`. "
        "Unset: only numbers that begin with `+`.",
    )
    node_creation_confidence: float = Field(
        default=0.75, ge=0, le=1, description="Confidence from which a proposed node is created."
    )
    summary_words: int = Field(default=200, ge=20, description="Target length of a summary in words.")
    passages: bool = Field(default=True, description="Whether single messages are indexed beside their summary.")
    passage_max_tokens: int = Field(
        default=200,
        ge=20,
        description="Tokens from which one message is split into several passages, of at most 40 % of this each.",
    )

    @field_validator("redact", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(filter(None, (kind.strip() for kind in value.split(",")))) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> IngestionSettings:
        if not self.chunk_watch_tokens <= self.chunk_target_tokens <= self.chunk_limit_tokens:
            raise ValueError(
                "NEURIGRAPH_CHUNK_WATCH_TOKENS <= NEURIGRAPH_CHUNK_TARGET_TOKENS <= NEURIGRAPH_CHUNK_LIMIT_TOKENS "
                "must hold"
            )
        return self


class UploadSettings(BaseModel):
    """Uploaded files, and files from the drop place."""

    model_config = group()

    max_upload_bytes: int = Field(default=1_073_741_824, ge=1, description="Largest file that is accepted, in bytes.")
    extraction_seconds: float = Field(
        default=60.0, gt=0, description="Longest time for reading the text of one file, in seconds."
    )
    extraction_memory_bytes: int = Field(
        default=1_073_741_824, ge=268_435_456, description="Address space of the process that reads one file."
    )
    extraction_text_bytes: int = Field(
        default=20_000_000, ge=1_000, description="Most text that is read from one file, in bytes of UTF-8."
    )
    import_seconds: float = Field(
        default=1_800.0,
        gt=0,
        description="Longest time for reading the conversations of one uploaded export, in seconds, without the time "
        "in which they are stored.",
    )
    ocr_seconds: float = Field(
        default=300.0,
        ge=0,
        description="Longest time for reading the words in the images of one file, in seconds; 0 reads none. Needs the "
        "extra `ocr`.",
    )
    ocr_memory_bytes: int = Field(
        default=2_147_483_648, ge=1_073_741_824, description="Address space of the process that reads images."
    )
    drop_url: str | None = Field(
        default=None,
        description="Place to watch for files: a folder, or `s3://bucket/prefix`, with a folder for each user's slug "
        "in it. Files are taken in and left where they are. Unset: nothing is watched.",
    )
    drop_settle_seconds: float = Field(
        default=5.0,
        ge=0,
        description="Seconds without a change after which a file in a drop folder counts as complete.",
    )


class LifecycleSettings(BaseModel):
    """When files become dormant and memories expire, and how long nodes stay warm."""

    model_config = group()

    dormancy_days: float = Field(
        default=30.0, gt=0, description="Days without access after which a file is compressed."
    )
    recompress_ttl_minutes: float = Field(
        default=15.0, gt=0, description="Minutes after which a file opened for a question is compressed again."
    )
    rehydration_lease_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Seconds without renewal after which the lease on a file being decompressed expires.",
    )
    short_tier_hours: float = Field(
        default=6.0, gt=0, le=8_760, description="Hours that a memory of the tier `short` is kept after an access."
    )
    mid_tier_days: float = Field(
        default=7.0, gt=0, le=3_650, description="Days that a memory of the tier `mid` is kept after an access."
    )
    action_expiry_hours: float = Field(
        default=24.0,
        ge=0.1,
        le=8_760,
        description="Hours after which an action that nobody decides about expires, unless its proposal says otherwise "
        "(docs/quarantine.md).",
    )
    action_overdue_hours: float = Field(
        default=4.0,
        gt=0,
        le=8_760,
        description="Hours of waiting after which an action is reported to the failure webhook (docs/quarantine.md).",
    )
    orphan_grace_hours: float = Field(
        default=24.0, ge=0, description="Hours for which an object that no record names is left alone."
    )
    warming_ttl_minutes: float = Field(default=30.0, gt=0, description="Minutes that a warmed node stays staged.")
    warming_nodes: int = Field(
        default=30,
        ge=0,
        le=200,
        description="Staged nodes loaded into memory after an answer over HTTP. 0: none.",
    )
