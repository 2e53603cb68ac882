"""Settings of models, of the calls to their providers, and of the token counter."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, SecretStr

from neurigraph_pipelines.settings.group import group

EmbeddingService = Literal["openai", "voyage", "minilm", "neurigraph"]


class ModelSettings(BaseModel):
    """Which language model and embedder are used."""

    model_config = group()

    language_model: Literal["auto", "openai", "offline"] = Field(
        default="auto",
        description="Language model that files, summarises and describes. auto: openai when a key or "
        "`NEURIGRAPH_LANGUAGE_MODEL_URL` is set, else offline.",
    )
    language_model_url: str | None = Field(
        default=None,
        description="Base address of any server that speaks the OpenAI protocol, such as Ollama, llama.cpp or vLLM, "
        "for the language model alone. Unset: as `OPENAI_BASE_URL` says.",
    )
    language_model_name: str | None = Field(
        default=None, description="Model at `NEURIGRAPH_LANGUAGE_MODEL_URL`, by the name that the server knows it by."
    )
    language_model_key: SecretStr | None = Field(
        default=None, description="Key for `NEURIGRAPH_LANGUAGE_MODEL_URL`, if that server wants one."
    )
    embedder: Literal["auto"] | EmbeddingService = Field(
        default="auto",
        description="Embedding service. auto: openai or voyage when its key is set, else neurigraph. "
        "neurigraph and minilm need no network: MiniLM trained on conversations, and as it was published.",
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
    voyage_embedding_model: str = Field(
        default="voyage-3.5", description="Embedding model; 1024 dimensions are requested."
    )
    minilm_graph: Path | None = Field(
        default=None,
        description="File of weights that you trained (docs/models.md); `NEURIGRAPH_EMBEDDER=neurigraph` then embeds "
        "with it.",
    )
    minilm_threads: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description="Threads of the local embedder for several texts; a question takes one. Unset: one for each core. "
        "All but the first have a low priority.",
    )

    @property
    def chosen_language_model(self) -> Literal["openai", "offline"]:
        """The language model that is used."""
        if self.language_model != "auto":
            return self.language_model
        return "openai" if self.openai_api_key or self.language_model_url else "offline"

    @property
    def chosen_embedder(self) -> EmbeddingService:
        """The embedder that is used."""
        if self.embedder != "auto":
            return self.embedder
        return "openai" if self.openai_api_key else "voyage" if self.voyage_api_key else "neurigraph"


class ModelCallSettings(BaseModel):
    """How a process calls its language model and embedding providers."""

    model_config = group("MODEL_")

    context_tokens: int = Field(
        default=100_000, ge=1_000, description="Tokens of content sent in one call; longer content goes in windows."
    )
    timeout_seconds: float = Field(default=60.0, gt=0, description="Seconds to wait for one answer.")
    max_retries: int = Field(
        default=4, ge=0, le=10, description="Attempts after the first for a transient fault, with backoff and jitter."
    )
    concurrency: int = Field(default=8, ge=1, le=64, description="Provider calls at the same time.")
    requests_per_minute: float | None = Field(
        default=None,
        gt=0,
        description="Requests that one process sends to a provider in a minute, evenly spaced. "
        "Unset: as fast as the provider's own answers allow.",
    )
    tokens_per_minute: float | None = Field(
        default=None,
        gt=0,
        description="Tokens that one process sends to a provider in a minute, evenly spaced. "
        "Simultaneous runs share the account's limit: divide it among them.",
    )


class TokenSettings(BaseModel):
    """How tokens are counted."""

    model_config = group()

    encoding: str = Field(
        default="o200k_base",
        validation_alias="NEURIGRAPH_TOKEN_ENCODING",
        description="tiktoken encoding that counts tokens.",
    )
    cache_dir: Path | None = Field(
        default=None,
        validation_alias="TIKTOKEN_CACHE_DIR",
        description="Folder with encodings that are already downloaded. Unset: `tiktoken` in the home folder.",
    )
    download: bool = Field(
        default=False,
        validation_alias="NEURIGRAPH_TIKTOKEN_DOWNLOAD",
        description="Whether a missing encoding may be downloaded. If not, token counts are estimated.",
    )


class RerankerSettings(BaseModel):
    """Which reranker is used, and how."""

    model_config = group("RERANKER_")

    choice: Literal["none", "auto", "cohere", "voyage", "compatible", "language_model"] = Field(
        default="none",
        validation_alias="NEURIGRAPH_RERANKER",
        description="Service that puts the first results of a search in a better order by reading them beside the "
        "question. auto: cohere or voyage when its key is set, else none. compatible: a server that answers as Cohere "
        "does. language_model: the language model, one call more for each question.",
    )
    cohere_api_key: SecretStr | None = Field(
        default=None, validation_alias="COHERE_API_KEY", description="Key for Cohere."
    )
    api_key: SecretStr | None = Field(default=None, description="Key for a compatible reranker, if it has one.")
    base_url: str | None = Field(
        default=None,
        description="Address below which the reranker has `/rerank`. Unset: Cohere's or Voyage's own; a compatible "
        "reranker needs it.",
    )
    model: str | None = Field(
        default=None, description="Reranking model. Unset: `rerank-v3.5` of Cohere, `rerank-2.5` of Voyage."
    )
    top_n: int = Field(default=50, ge=1, le=200, description="Results that the reranker reads.")
    timeout_seconds: float = Field(
        default=5.0, gt=0, description="Seconds to wait for the reranker; the caller waits as long."
    )
