"""Embeddings over the network: OpenAI, servers that speak its protocol, and Voyage AI.

Belongs here: the models' properties, batching, splitting long texts, and checking answers. Retries and concurrency are
in ``providers.retries``. ``docs/adr/0008-models-behind-ports.md`` says why one SDK serves both.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model import RECORD_DIMENSIONS
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import TokenCounter
from neurigraph_pipelines.text.in_context import CONTEXT_END
from resources.providers.retries import ProviderClient, UnusableAnswerError
from resources.providers.text_windows import split_text
from resources.well_formed import well_formed

if TYPE_CHECKING:
    from openai import OpenAI

WINDOW_TOKENS = 2_000
"""Tokens of a text embedded at once. OpenAI's limit is 8,191 by its own count, and our counters are estimates."""

REQUEST_TOKENS = 80_000
"""Tokens in one request; the lowest limit of a service is 120,000 by its own count (voyage-3-large)."""

EMPTY_TEXT = "(empty)"
"""Sent in place of a text without content, which the services reject."""


@dataclass(frozen=True, slots=True)
class _Model:
    """The properties of a model's vectors.

    Attributes:
        dimensions: Requested width, or the model's fixed width.
        shortened: Whether the width is requested; only models trained for it (Matryoshka) accept the parameter.
    """

    dimensions: int
    shortened: bool


_MODELS: dict[str, _Model] = {
    "text-embedding-3-small": _Model(1536, shortened=True),
    "text-embedding-3-large": _Model(min(3072, RECORD_DIMENSIONS), shortened=True),
    "text-embedding-ada-002": _Model(1536, shortened=False),
    "voyage-4": _Model(1024, shortened=True),
    "voyage-4-large": _Model(1024, shortened=True),
    "voyage-4-lite": _Model(1024, shortened=True),
    "voyage-3.5": _Model(1024, shortened=True),
    "voyage-3.5-lite": _Model(1024, shortened=True),
    "voyage-3-large": _Model(1024, shortened=True),
    "voyage-code-3": _Model(1024, shortened=True),
    "voyage-3": _Model(1024, shortened=False),
    "voyage-3-lite": _Model(512, shortened=False),
    "voyage-finance-2": _Model(1024, shortened=False),
    "voyage-law-2": _Model(1024, shortened=False),
}
"""Models by name; the width of any other model is measured once."""

_MOST_TEXTS = 128
"""Texts in one request. The services accept 1,000 and more, but then an answer in JSON numbers has 30 MB, and a batch
of texts becomes one large request instead of several concurrent ones."""


@dataclass(frozen=True, slots=True)
class _Window:
    """A part of one text with its weight in the text's average."""

    text: int
    content: str
    tokens: int


@dataclass(frozen=True, slots=True)
class _CautiousCounter:
    """Overestimates text beyond ASCII, where the services' older encodings need up to one token per byte."""

    inner: TokenCounter
    exact = False

    @property
    def name(self) -> str:
        """Name of the counter."""
        return f"cautious:{self.inner.name}"

    def count(self, text: str) -> int:
        """Return the tokens of ``text`` plus one for every two bytes of UTF-8 beyond one per character."""
        return self.inner.count(text) + (len(text.encode()) - len(text)) // 2

    def count_each(self, texts: Sequence[str]) -> list[int]:
        """Return ``count`` of each text."""
        return [self.count(text) for text in texts]


class OpenAiEmbedder:
    """Implements ``ports.Embedder`` over the OpenAI protocol.

    A text over ``WINDOW_TOKENS`` is embedded in windows; its vector is their mean, weighted by tokens. Requests are
    sent concurrently. Answers are checked for count, order, width and finite numbers, and normalised.

    Args:
        model: The service's name of the model.
        client: Sends the requests.
        tokens: Counts tokens; an estimate is enough.
        service: ``voyage`` sends Voyage's parameters: the input type, and its name for the width.
        compact: Whether to request vectors as base64, a quarter of the size of JSON numbers. Both services support
            it (Voyage offers nothing else); many compatible servers do not.
    """

    max_tokens = WINDOW_TOKENS

    def __init__(
        self,
        model: str,
        client: ProviderClient,
        tokens: TokenCounter,
        service: Literal["openai", "voyage"] = "openai",
        compact: bool = True,
    ) -> None:
        self.model = model
        self._client = client
        self._tokens = _CautiousCounter(tokens)
        self._service = service
        self._compact = compact
        self._known = _MODELS.get(model)
        self._measured: int | None = None

    @property
    def dimensions(self) -> int:
        """Width of the vectors; for an unknown model it is measured by embedding one word.

        Raises:
            ConfigurationError: The model is wider than a record's column.
            TransientError: As ``embed``.
            ProviderError: As ``embed``.
        """
        if self._known is not None:
            return self._known.dimensions
        if self._measured is None:
            width = self._client.call(partial(self._request, ["width"], "document", None)).shape[1]
            if width > RECORD_DIMENSIONS:
                raise ConfigurationError(
                    f"{self.model} has {width} dimensions and the limit is {RECORD_DIMENSIONS}: "
                    "choose a narrower embedding model."
                )
            self._measured = width
        return self._measured

    @property
    def prefix_trained(self) -> bool:
        """True for models that support fewer dimensions, which requires the same training."""
        return self._known is not None and self._known.shortened

    @property
    def is_remote(self) -> bool:
        """Always True: every query goes to the provider."""
        return True

    @measured("model.embed")
    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        """Embed ``texts`` in order.

        Returns:
            ``(len(texts), dimensions)`` float32, rows of unit length.

        Raises:
            TransientError: The service could not be reached, or asked to wait, after bounded retries.
            ProviderError: The service refused permanently, or its answers were unusable.
            ConfigurationError: The model is wider than a record's column.
        """
        width = self.dimensions
        windows = [window for index, text in enumerate(texts) for window in self._windows(index, text)]
        batches = list(self._batches(windows))
        vectors = self._client.call_all(
            [
                (
                    partial(self._request, [window.content for window in batch], kind, width),
                    sum(window.tokens for window in batch),
                )
                for batch in batches
            ]
        )
        sums = np.zeros((len(texts), width), np.float32)
        for batch, rows in zip(batches, vectors, strict=True):
            for window, row in zip(batch, rows, strict=True):
                sums[window.text] += row * window.tokens
        return _unit(sums)

    def _windows(self, index: int, text: str) -> Iterator[_Window]:
        """Yield the windows of one text; at least one."""
        for part in split_text(well_formed(text.replace(CONTEXT_END, "\n")), WINDOW_TOKENS, self._tokens):
            content = part if part.strip() else EMPTY_TEXT
            yield _Window(index, content, max(1, self._tokens.count(content)))

    def _batches(self, windows: list[_Window]) -> Iterator[list[_Window]]:
        """Yield batches of windows in order, each as many as fit in one request."""
        batch: list[_Window] = []
        size = 0
        for window in windows:
            if batch and (len(batch) == _MOST_TEXTS or size + window.tokens > REQUEST_TOKENS):
                yield batch
                batch, size = [], 0
            batch.append(window)
            size += window.tokens
        if batch:
            yield batch

    def _request(
        self, texts: list[str], kind: Literal["document", "query"], width: int | None, client: OpenAI
    ) -> NDArray[np.float32]:
        """Send one request; return unit vectors in the order of ``texts``, ``width`` wide if that is given."""
        from openai import omit

        shortened = self._known is not None and self._known.shortened
        voyage = self._service == "voyage"
        extra: dict[str, object] = {}
        if voyage:
            # By default Voyage truncates long texts silently; ours are windows already.
            extra = {"input_type": kind, "truncation": False}
            if shortened:
                extra["output_dimension"] = width
        # Parse the raw answer: the SDK creates an object for every number, which takes seven times as long.
        answer = client.embeddings.with_raw_response.create(
            model=self.model,
            input=texts,
            dimensions=width if shortened and not voyage and width is not None else omit,
            encoding_format="base64" if self._compact else "float",
            extra_body=extra,
        )
        return _read_vectors(json.loads(answer.content), len(texts), width, self._client.service)


def _read_vectors(answer: Any, count: int, width: int | None, service: str) -> NDArray[np.float32]:
    """Return the vectors of an answer in the order of the request, checked and normalised."""
    try:
        rows = {item["index"]: _read_vector(item["embedding"]) for item in answer["data"]}
        vectors = np.stack([rows[index] for index in range(count)])
    except (TypeError, KeyError, ValueError, binascii.Error) as error:
        raise UnusableAnswerError(f"{service} did not answer with one vector for each text.") from error
    if len(answer["data"]) != count or vectors.ndim != 2:
        raise UnusableAnswerError(f"{service} did not answer with one vector for each text.")
    if width is not None and vectors.shape[1] != width:
        raise UnusableAnswerError(f"{service} answered with {vectors.shape[1]} dimensions instead of {width}.")
    if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
        raise UnusableAnswerError(f"{service} answered with a vector that is zero or not finite.")
    return _unit(vectors)


def _read_vector(embedding: str | list[float]) -> NDArray[np.float64]:
    """Read one vector, from little-endian float32 in base64 or from JSON numbers."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float64)
    return np.asarray(embedding, dtype=np.float64)


def _unit(vectors: NDArray[np.float32] | NDArray[np.float64]) -> NDArray[np.float32]:
    """Scale rows to length one."""
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit
