"""The models of an installation: the adapters that the settings choose for embedding, writing and reading.

A part of ``wiring``, the only place that imports ``resources``.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from neurigraph_pipelines.model.errors import AccountError, ConfigurationError
from neurigraph_pipelines.model.ports import (
    AreaReader,
    Embedder,
    Examiner,
    Expander,
    LanguageModel,
    Reranker,
    TokenCounter,
    ToolCaller,
)
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.settings.providers import EmbeddingService

if TYPE_CHECKING:
    from pydantic import SecretStr

    from resources.providers.question_reader import ChatQuestionReader
    from resources.providers.retries import ProviderClient


class _Chat(NamedTuple):
    """The server of a chat model, as the settings name it."""

    service: str
    model: str
    key: SecretStr | None
    variable: str
    base_url: str | None


class WiredModels:
    """The models of one installation, each made on first use."""

    settings: Settings
    _open: ExitStack

    @property
    @abstractmethod
    def home(self) -> Path:
        """The home folder."""

    @cached_property
    def tokens(self) -> TokenCounter:
        """The token counter: tiktoken if its encoding is available, else an estimate."""
        from resources.tokens.tokenizer import token_counter

        tokens = self.settings.tokens
        return token_counter(tokens.encoding, tokens.cache_dir or self.home / "tiktoken", tokens.download)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder that the settings choose."""
        return self.make_embedder(self.settings.models.chosen_embedder)

    def make_embedder(self, chosen: EmbeddingService, model: str | None = None) -> Embedder:
        """Return an embedder of a service, with the key and address of the settings.

        Args:
            chosen: The service.
            model: Its model; by default the one of the settings. The local ones have one each.

        Raises:
            ConfigurationError: There is no key for the service.
        """
        models = self.settings.models
        if chosen == "minilm":
            from resources.minilm.embedder import MiniLmEmbedder

            return MiniLmEmbedder(self.home / "models", models.minilm_threads)
        if chosen == "neurigraph":
            from resources.minilm.embedder import NeurigraphEmbedder, OwnEmbedder

            own = models.minilm_graph
            return OwnEmbedder(own, models.minilm_threads) if own else NeurigraphEmbedder(models.minilm_threads)
        from resources.providers.embedder import OpenAiEmbedder

        if chosen == "voyage":
            if models.voyage_api_key is None:
                raise ConfigurationError(_no_key("Voyage AI", "VOYAGE_API_KEY"))
            client = self._client("Voyage AI", models.voyage_api_key, "VOYAGE_API_KEY", models.voyage_base_url)
            return OpenAiEmbedder(model or models.voyage_embedding_model, client, self.tokens, service="voyage")
        if models.openai_api_key is None:
            raise ConfigurationError(_no_key("OpenAI", "OPENAI_API_KEY"))
        # OpenAI sends vectors as base64, a quarter of the size; not every compatible server does.
        compact = models.openai_base_url is None
        return OpenAiEmbedder(model or models.openai_embedding_model, self._openai, self.tokens, compact=compact)

    @cached_property
    def language_model(self) -> LanguageModel:
        """The language model that the settings choose."""
        models = self.settings.models
        if models.chosen_language_model == "offline":
            from resources.offline.language_model import OfflineLanguageModel

            return OfflineLanguageModel(self.embedder, self.settings.language)
        from resources.providers.language_model import OpenAiLanguageModel

        chat, window = self._chat, self.settings.model_calls.context_tokens
        is_openai = models.language_model_url is None
        client = self._openai if is_openai else self._client(chat.service, chat.key, chat.variable, chat.base_url)
        is_compatible = chat.base_url is not None
        return OpenAiLanguageModel(chat.model, client, self.tokens, window, is_compatible=is_compatible)

    @cached_property
    def area_reader(self) -> AreaReader:
        """The reader of areas of life, whatever the language model is: it is fast enough for thousands of texts."""
        from resources.offline.area_words import AreaWords

        return AreaWords(self.settings.language)

    @cached_property
    def expander(self) -> Expander | None:
        """The reader that words questions in other ways, if the settings ask for one."""
        expansion = self.settings.expansion
        return self._question_reader(expansion.timeout_seconds) if expansion.wordings else None

    @cached_property
    def tool_caller(self) -> ToolCaller | None:
        """The caller that chooses the tools of a chat: the language model, unless that is the offline one."""
        if self.settings.models.chosen_language_model == "offline":
            return None
        from resources.providers.tool_caller import ChatToolCaller

        chat = self._chat
        client = self._client(chat.service, chat.key, chat.variable, chat.base_url)
        return ChatToolCaller(chat.model, client)

    def make_examiner(self, model: str | None = None) -> Examiner | None:
        """Return a model that reads or judges in evaluations; None if the language model is the offline one.

        Args:
            model: Its name at the server of the language model; by default the language model itself.

        Raises:
            ConfigurationError: A model is named, and there is no server for it.
        """
        if self.settings.models.chosen_language_model == "offline":
            if model is not None:
                raise ConfigurationError(f"there is no server for the model {model!r}: set NEURIGRAPH_LANGUAGE_MODEL")
            return None
        from resources.providers.examiner import ChatExaminer

        chat = self._chat
        client = self._client(chat.service, chat.key, chat.variable, chat.base_url)
        return ChatExaminer(model or chat.model, client, self.tokens, is_compatible=chat.base_url is not None)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker that the settings choose, if any."""
        models, reranker = self.settings.models, self.settings.reranker
        chosen = self.settings.chosen_reranker
        if chosen == "none":
            return None
        if chosen == "language_model":
            return self._question_reader(reranker.timeout_seconds)
        from pydantic import SecretStr

        from resources.providers.reranker import COHERE_BASE_URL, COHERE_MODEL, VOYAGE_MODEL, HttpReranker

        service, key, variable, base_url, model = {
            "cohere": ("Cohere", reranker.cohere_api_key, "COHERE_API_KEY", COHERE_BASE_URL, COHERE_MODEL),
            "voyage": ("Voyage AI", models.voyage_api_key, "VOYAGE_API_KEY", models.voyage_base_url, VOYAGE_MODEL),
            "compatible": ("The reranker", reranker.api_key or SecretStr("none"), "", None, None),
        }[chosen]
        if key is None:
            raise ConfigurationError(_no_key(service, variable))
        base_url, model = reranker.base_url or base_url, reranker.model or model
        if base_url is None or model is None:
            raise ConfigurationError(
                "a compatible reranker needs an address and a model: set NEURIGRAPH_RERANKER_BASE_URL and "
                "NEURIGRAPH_RERANKER_MODEL"
            )
        client = self._client(service, key, variable, base_url, reranker.timeout_seconds)
        return HttpReranker(model, client, "voyage" if chosen == "voyage" else "cohere")

    def _question_reader(self, timeout: float) -> ChatQuestionReader:
        """Return the language model as a reader of questions, with a client of its own: callers wait less long."""
        from resources.providers.question_reader import ChatQuestionReader

        chat = self._chat
        client = self._client(chat.service, chat.key, chat.variable, chat.base_url, timeout)
        return ChatQuestionReader(chat.model, client, is_compatible=chat.base_url is not None)

    @property
    def _chat(self) -> _Chat:
        """The server of the language model."""
        from pydantic import SecretStr

        models, url = self.settings.models, self.settings.models.language_model_url
        if models.chosen_language_model == "offline":
            raise ConfigurationError(
                "the offline language model neither words questions in other ways nor reranks: "
                "set NEURIGRAPH_LANGUAGE_MODEL"
            )
        if url is None:
            return _Chat("OpenAI", models.openai_model, models.openai_api_key, "OPENAI_API_KEY", models.openai_base_url)
        if models.language_model_name is None:
            raise ConfigurationError("NEURIGRAPH_LANGUAGE_MODEL_URL needs a model: set NEURIGRAPH_LANGUAGE_MODEL_NAME")
        key = models.language_model_key or SecretStr("none")
        return _Chat("The language model's server", models.language_model_name, key, "", url)

    @cached_property
    def _openai(self) -> ProviderClient:
        """The client of language model and embedder, whose calls share one limit."""
        models = self.settings.models
        return self._client("OpenAI", models.openai_api_key, "OPENAI_API_KEY", models.openai_base_url)

    def _client(
        self, service: str, key: SecretStr | None, variable: str, base_url: str | None, timeout: float | None = None
    ) -> ProviderClient:
        """Return a client; without a key, its calls fail as with a wrong one, so that the queue waits for a key."""
        from resources.providers.pace import Pace
        from resources.providers.retries import ProviderClient

        calls = self.settings.model_calls
        client = ProviderClient(
            service,
            key.get_secret_value() if key is not None else AccountError(_no_key(service, variable)),
            base_url,
            timeout or calls.timeout_seconds,
            calls.max_retries,
            calls.concurrency,
            pace=Pace(service, calls.requests_per_minute, calls.tokens_per_minute),
            longest=timeout,
        )
        self._open.callback(client.close)
        return client


def _no_key(service: str, variable: str) -> str:
    return f"the settings choose {service} and there is no key for it: set {variable}"
