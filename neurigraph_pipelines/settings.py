"""All settings, with default, unit and reason; ``docs/settings.md`` is generated from here.

The only module that reads the environment, and only when ``Settings()`` is constructed. What a setting does lives
with the code that obeys it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


def _default_home() -> Path:
    """``$XDG_DATA_HOME/neurigraph``, or ``~/.local/share/neurigraph``."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "neurigraph"


def _eighth_of_memory() -> int:
    """An eighth of the machine's memory, or of what its container may use."""
    limits = []
    with suppress(OSError, ValueError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            limits.append(int(Path("/sys/fs/cgroup", limit).read_text(encoding="ascii")))
    return min(limits, default=4_000_000_000) // 8_000_000


Language = Literal[
    "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german", "greek",
    "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "portuguese",
    "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
]  # fmt: skip
"""What both PyStemmer and every Postgres from version 15 can stem."""


class Settings(BaseSettings):
    """Settings of one installation, read from ``NEURIGRAPH_*`` variables and a ``.env`` file."""

    model_config = SettingsConfigDict(
        env_prefix="NEURIGRAPH_", env_file=".env", env_file_encoding="utf-8", extra="ignore", frozen=True
    )

    # Places
    home: Path = Field(
        default_factory=_default_home,
        description="Folder for everything kept on this machine: the embedded server, objects, logs, the secret.",
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="Postgres 15 or newer with pgvector 0.7 or newer, as a user who may create roles. "
        "Unset: the embedded server is started on demand.",
    )
    secret: SecretStr | None = Field(
        default=None,
        description="Signs claims and derives the passwords of the database roles. "
        "Unset: made once and kept in the home folder, readable by its owner only.",
    )
    admin_key: SecretStr | None = Field(
        default=None,
        description="Bearer key that may create users over HTTP. May be left out on loopback with the embedded server.",
    )
    opaque_schema_names: bool = Field(
        default=False,
        description="Whether schemas of new users' nodes get names that say nothing: every role of a database sees its "
        "catalog (docs/access.md).",
    )
    jwt_audience: str | None = Field(
        default=None,
        min_length=1,
        description="`aud` of the tokens that are taken in place of API keys (docs/access.md).",
    )
    jwt_issuer: str | None = Field(default=None, min_length=1, description="`iss` of these tokens.")
    jwt_secret: SecretStr | None = Field(
        default=None,
        min_length=32,
        description="Shared with whoever signs tokens by HS256; at least 32 characters. Unset: none of these is taken.",
    )
    jwt_jwks_url: str | None = Field(
        default=None,
        description="Address (https) of the keys of whoever signs tokens by RS256. Unset: none of these is taken.",
    )
    jwt_jwks_seconds: float = Field(
        default=300.0, gt=0, description="Seconds for which fetched keys are kept: a withdrawn one is good for as long."
    )
    jwt_leeway_seconds: float = Field(
        default=10.0, ge=0, le=300, description="By which the clock of whoever signs may differ from ours."
    )
    jwt_most_seconds: float = Field(
        default=86_400.0,
        gt=0,
        description="A token that expires later than that from now is refused: tokens cannot be revoked.",
    )
    objects_url: str | None = Field(
        default=None,
        description="Where raw files live: a folder, or `s3://bucket/prefix` (docs/object-storage.md). "
        "Unset: `objects` in the home folder.",
    )

    # Models
    language_model: Literal["auto", "openai", "offline"] = Field(
        default="auto", description="Who files, summarises and describes. auto: openai when a key is set, else offline."
    )
    embedder: Literal["auto", "openai", "voyage", "minilm"] = Field(
        default="auto", description="Who embeds. auto: openai or voyage when their key is set, else minilm."
    )
    openai_api_key: SecretStr | None = Field(
        default=None, validation_alias="OPENAI_API_KEY", description="Key for OpenAI, or for a compatible server."
    )
    openai_base_url: str | None = Field(
        default=None,
        validation_alias="OPENAI_BASE_URL",
        description="Base address of a server that speaks the OpenAI protocol. Unset: OpenAI's own.",
    )
    openai_model: str = Field(default="gpt-4.1-mini", description="Chat model; must support structured outputs.")
    openai_embedding_model: str = Field(
        default="text-embedding-3-small", description="Embedding model; 1536 dimensions fit the column as they are."
    )
    voyage_api_key: SecretStr | None = Field(
        default=None, validation_alias="VOYAGE_API_KEY", description="Key for Voyage AI."
    )
    voyage_base_url: str = Field(
        default="https://api.voyageai.com/v1", description="Base address of the Voyage embedding service."
    )
    voyage_embedding_model: str = Field(default="voyage-3.5", description="Embedding model; asked for 1024 dimensions.")
    model_context_tokens: int = Field(
        default=100_000, ge=1_000, description="Tokens of content sent in one call; longer content goes in windows."
    )
    model_timeout_seconds: float = Field(default=60.0, gt=0, description="Seconds to wait for one answer.")
    model_max_retries: int = Field(
        default=4, ge=0, le=10, description="Attempts after the first for a transient fault, with backoff and jitter."
    )
    model_concurrency: int = Field(default=8, ge=1, le=64, description="Provider calls at the same time.")
    model_requests_per_minute: float | None = Field(
        default=None,
        gt=0,
        description="Requests that one process sends to a provider in a minute, evenly spaced. "
        "Unset: as fast as the provider's own answers allow.",
    )
    model_tokens_per_minute: float | None = Field(
        default=None,
        gt=0,
        description="Tokens that one process sends to a provider in a minute, evenly spaced. "
        "Several runs at a time share what the account has: divide it among them.",
    )
    minilm_threads: int = Field(
        default=1, ge=1, le=64, description="Threads of the local embedder; more than the free cores slows it down."
    )

    # Tokens
    token_encoding: str = Field(default="o200k_base", description="tiktoken encoding that counts tokens.")
    tiktoken_cache_dir: Path | None = Field(
        default=None,
        validation_alias="TIKTOKEN_CACHE_DIR",
        description="Folder with encodings already downloaded. Unset: `tiktoken` in the home folder.",
    )
    tiktoken_download: bool = Field(
        default=False,
        description="Whether a missing encoding may be downloaded. Off, an estimate takes over at once.",
    )

    # Triggers
    chunk_watch_tokens: int = Field(default=480_000, ge=1, description="Unstored tokens from which a break is sought.")
    chunk_target_tokens: int = Field(default=500_000, ge=1, description="Tokens nearest to which a chunk ends.")
    chunk_limit_tokens: int = Field(default=620_000, ge=1, description="Tokens that no chunk exceeds.")
    batch_max_segments: int = Field(
        default=100, ge=1, description="Segments in one run; a run costs one to two seconds."
    )
    batch_max_tokens: int = Field(
        default=1_000_000, ge=1, description="Tokens in one run, unless one segment has more."
    )
    batches_in_flight: int = Field(
        default=4,
        ge=1,
        description="Batches a sensor has claimed at one time; more would only wait in Dagster's queue.",
    )
    claim_lease_seconds: int = Field(
        default=900, ge=5, description="Seconds after which a claimed segment without progress is taken up again."
    )
    max_attempts: int = Field(default=5, ge=1, description="Attempts before a segment becomes a pipeline failure.")
    retry_base_seconds: float = Field(
        default=30.0, gt=0, description="Wait before the second attempt; doubles with each, with jitter."
    )
    inbox_retention_days: float = Field(
        default=0.0, ge=0, description="Days that message bodies stay in the inbox after their segment was stored."
    )
    unstorable_text: Literal["repair", "reject"] = Field(
        default="repair",
        description="NUL bytes and lone surrogates, which no database stores: replace them by U+FFFD, or reject.",
    )
    max_message_bytes: int = Field(
        default=4_000_000, ge=1_000, description="Longest message in bytes of UTF-8 that is accepted."
    )

    redact: Annotated[tuple[Literal["email", "phone", "card", "key"], ...], NoDecode] = Field(
        default=(),
        description="What is taken out of messages and titles before anything is stored, such as "
        "`email,phone,card,key` (docs/redaction.md). Empty: nothing.",
    )
    redact_phone_region: str | None = Field(
        default=None,
        pattern=r"^[A-Z]{2}$",
        description="Country whose telephone numbers are recognised without their country code, such as `US`. "
        "Unset: only numbers that begin with `+`.",
    )

    # Uploads
    max_upload_bytes: int = Field(default=1_073_741_824, ge=1, description="Largest file that is accepted, in bytes.")
    extraction_seconds: float = Field(default=60.0, gt=0, description="Seconds in which a file's text must be read.")
    extraction_memory_bytes: int = Field(
        default=1_073_741_824, ge=268_435_456, description="Address space of the process that reads one file."
    )
    extraction_text_bytes: int = Field(
        default=20_000_000, ge=1_000, description="Most text that is read out of one file, in bytes of UTF-8."
    )
    drop_url: str | None = Field(
        default=None,
        description="Watched for files: a folder, or `s3://bucket/prefix`, with a folder for each user's slug in it. "
        "What lies there is taken in and left where it is. Unset: nothing is watched.",
    )
    drop_settle_seconds: float = Field(
        default=5.0, ge=0, description="Seconds without a change after which a file in a drop folder counts as whole."
    )

    # Filing and summaries
    node_creation_confidence: float = Field(
        default=0.75, ge=0, le=1, description="Confidence from which a proposed node is made."
    )
    summary_words: int = Field(default=200, ge=20, description="Target length of a summary in words.")
    passages: bool = Field(default=True, description="Whether single messages are indexed beside their summary.")
    passage_max_tokens: int = Field(
        default=200, ge=20, description="Tokens from which one message is split into several passages."
    )
    language: Language = Field(
        default="english",
        description="Language of stemming and stop words: one that Snowball and Postgres know, such as `german`; "
        "another is refused with the list of them.",
    )

    # Objects
    gzip_level: int = Field(default=6, ge=1, le=9, description="Compression level of stored text.")
    gzip_member_bytes: int = Field(
        default=32_768, ge=1_024, description="Bytes of text in one gzip member: what is read to open one passage."
    )

    # S3, of objects and of the drop place
    s3_endpoint_url: str | None = Field(
        default=None, description="Address of a server that speaks S3. Unset: Amazon's own."
    )
    s3_region: str | None = Field(
        default=None, description="Region of the bucket. Unset: what boto3 finds in the environment."
    )
    s3_access_key_id: str | None = Field(
        default=None,
        description="Who asks. Unset: what boto3 finds: the environment, its configuration, the machine's role.",
    )
    s3_secret_access_key: SecretStr | None = Field(default=None, description="Belongs to the access key id.")
    s3_max_attempts: int = Field(
        default=5, ge=1, le=10, description="Attempts at a request, the first included, with backoff and jitter."
    )
    s3_connect_timeout_seconds: float = Field(default=5.0, gt=0, description="Seconds to wait for a connection.")
    s3_read_timeout_seconds: float = Field(default=30.0, gt=0, description="Seconds to wait without a byte.")
    s3_part_bytes: int = Field(
        default=16 << 20,
        ge=5 << 20,
        le=5 << 30,
        description="Larger objects are sent in parts of this size, two of which are in memory. "
        "S3 takes 10,000 parts of one object, none below 5 MiB.",
    )
    s3_encryption: Literal["AES256", "aws:kms"] | None = Field(
        default=None, description="Encryption at rest that is asked for. Unset: what the bucket does by itself."
    )
    s3_kms_key_id: str | None = Field(
        default=None, description="Key of `aws:kms` encryption. Unset: the account's own for S3."
    )
    s3_cold_storage_class: Literal["STANDARD_IA", "INTELLIGENT_TIERING", "GLACIER_IR"] | None = Field(
        default=None,
        description="Storage class that dormant objects from 128 KiB are moved to; each can be read at once. "
        "Unset: they stay where they are, which is right for servers without classes.",
    )

    # Lifecycle
    dormancy_days: float = Field(
        default=30.0, gt=0, description="Days without access after which a file is compressed."
    )
    recompress_ttl_minutes: float = Field(
        default=15.0, gt=0, description="Minutes after which a file opened for a question is compressed again."
    )
    rehydration_lease_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Seconds without a sign of life after which a file that is being decompressed is taken up again.",
    )
    orphan_grace_hours: float = Field(
        default=24.0, ge=0, description="Hours for which an object that no record names is left alone."
    )
    warming_ttl_minutes: float = Field(default=30.0, gt=0, description="Minutes that a warmed node stays staged.")
    warming_nodes: int = Field(
        default=30, ge=0, le=200, description="Staged nodes brought into memory after an answer over HTTP. 0: none."
    )

    # Retrieval
    max_anchors: int = Field(
        default=50,
        ge=1,
        le=500,
        description="Nodes searched for one question; reading one that is not in memory costs about 3 ms and more.",
    )
    vector_index_passages: int = Field(
        default=50_000,
        ge=100,
        description="Passages from which a node's vectors are indexed and a question reads candidates, about 100 ms; "
        "below, it is ranked as a whole in memory, about 0.1 µs a passage, and read as a whole when it is first asked "
        "about, about 15 µs a passage, of which after a write to it 4.",
    )
    vector_index_method: Literal["hnsw", "ivfflat"] = Field(
        default="hnsw", description="Kind of index: hnsw finds more, ivfflat is built faster and takes less room."
    )
    answer_cache_entries: int = Field(
        default=256,
        ge=0,
        description="Answers a process keeps until what they depend on changes, a minute at most. 0: none.",
    )
    layer_cache_mb: int = Field(
        default_factory=_eighth_of_memory,
        ge=0,
        description="Megabytes of metadata layers that a process keeps in memory, about 4 kB a passage, so that it "
        "need not read them again. What is not kept is read for each question. 0: none.",
    )
    max_searched_passages: int = Field(
        default=5_000,
        ge=100,
        description="Passages of a graph that is searched as a whole, about 0.5 µs each in memory; of larger ones "
        "a fifth as many are compared, in the nodes for which most speaks.",
    )

    reranker: Literal["none", "auto", "cohere", "voyage", "compatible"] = Field(
        default="none",
        description="Who puts the first results of a search in a better order by reading them beside the question. "
        "auto: cohere or voyage when their key is set, else none. compatible: a server that answers as Cohere does.",
    )
    cohere_api_key: SecretStr | None = Field(
        default=None, validation_alias="COHERE_API_KEY", description="Key for Cohere."
    )
    reranker_api_key: SecretStr | None = Field(
        default=None, description="Key for a compatible reranker, if it has one."
    )
    reranker_base_url: str | None = Field(
        default=None,
        description="Address below which the reranker has `/rerank`. Unset: Cohere's or Voyage's own; a compatible "
        "reranker needs it.",
    )
    reranker_model: str | None = Field(
        default=None, description="Reranking model. Unset: `rerank-v3.5` of Cohere, `rerank-2.5` of Voyage."
    )
    reranker_top_n: int = Field(default=50, ge=1, le=200, description="Results that the reranker reads.")
    reranker_timeout_seconds: float = Field(
        default=5.0, gt=0, description="Seconds to wait for the reranker, who thinks while somebody waits."
    )
    ask_passages: int = Field(default=12, ge=1, le=100, description="Messages that an answer may rest on.")
    ask_files: int = Field(default=5, ge=1, le=50, description="Files opened for one answer.")
    ask_tokens: int = Field(
        default=6_000, ge=100, description="Tokens of messages that the language model is given for one answer."
    )

    # Alarms
    failure_webhook_url: SecretStr | None = Field(
        default=None,
        description="Where a failed run is reported by HTTP POST (docs/failures.md). Unset: only logged.",
    )
    failure_webhook_timeout_seconds: float = Field(
        default=10.0,
        gt=0,
        le=11.0,
        description="Seconds that one report may take, repetitions included; five go into one look of a minute.",
    )

    # Faces
    api_host: str = Field(default="127.0.0.1", description="Address that the HTTP API listens on.")
    api_port: int = Field(default=8400, ge=0, le=65535, description="Port of the HTTP API.")
    api_requests_per_minute: float = Field(
        default=6_000.0,
        gt=0,
        description="HTTP requests of one key in a minute; after a pause as many may come at once. "
        "Each process counts for itself: divide it among them.",
    )
    api_concurrent_requests: int = Field(
        default=200, ge=1, description="HTTP requests that a process works on at one time."
    )
    api_connections: int = Field(default=500, ge=1, description="Connections to one process of the HTTP API.")
    api_client_seconds: float = Field(
        default=30.0,
        gt=0,
        description="Seconds for a client to send the head of a request, to begin its body, or to take some of an "
        "answer.",
    )
    ui_host: str = Field(default="127.0.0.1", description="Address that the Dagster UI listens on.")
    ui_port: int = Field(default=3000, ge=0, le=65535, description="Port of the Dagster UI.")
    database_pool_size: int = Field(default=4, ge=1, le=100, description="Connections a process keeps in each role.")
    database_wait_seconds: float = Field(
        default=10.0, gt=0, description="Longest wait for one of these connections while all are in use."
    )
    statement_timeout_seconds: float = Field(default=30.0, gt=0, description="Longest statement of a face.")

    @field_validator("redact", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(filter(None, (kind.strip() for kind in value.split(",")))) if isinstance(value, str) else value

    @field_validator("s3_cold_storage_class", mode="before")
    @classmethod
    def _readable_at_once(cls, value: object) -> object:
        if value in ("GLACIER", "DEEP_ARCHIVE"):
            raise ValueError(f"{value} takes hours to give an object back: choose GLACIER_IR, which gives it at once")
        return value

    @model_validator(mode="after")
    def _s3_settings_in_pairs(self) -> Settings:
        if (self.s3_access_key_id is None) != (self.s3_secret_access_key is None):
            raise ValueError("s3_access_key_id and s3_secret_access_key are set together, or neither is")
        if self.s3_kms_key_id is not None and self.s3_encryption != "aws:kms":
            raise ValueError("s3_kms_key_id needs s3_encryption to be aws:kms")
        return self

    @model_validator(mode="after")
    def _tokens_are_meant_for_us(self) -> Settings:
        if (self.jwt_secret or self.jwt_jwks_url) and not (self.jwt_audience and self.jwt_issuer):
            raise ValueError("tokens need jwt_audience and jwt_issuer, or one signed for another service would do here")
        return self

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> Settings:
        if not self.chunk_watch_tokens <= self.chunk_target_tokens <= self.chunk_limit_tokens:
            raise ValueError("chunk_watch_tokens <= chunk_target_tokens <= chunk_limit_tokens must hold")
        return self
