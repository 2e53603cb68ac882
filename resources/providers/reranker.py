"""Reranking over the network: Cohere, Voyage AI, and servers compatible with Cohere.

Belongs here: requests and reading scores. Retries and concurrency are in ``providers.retries``, whose client sends JSON
to any path below its base address.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from neurigraph_pipelines.model.measuring import measured
from resources.providers.retries import ProviderClient, UnusableAnswerError
from resources.well_formed import well_formed

if TYPE_CHECKING:
    from openai import OpenAI

COHERE_BASE_URL = "https://api.cohere.com/v2"
COHERE_MODEL = "rerank-v3.5"
VOYAGE_MODEL = "rerank-2.5"
EMPTY_TEXT = "(empty)"
"""Sent in place of a text without content, which the services reject."""


class HttpReranker:
    """Implements ``ports.Reranker``.

    Cohere and compatible servers take ``top_n`` and answer with ``results``; Voyage takes ``top_k`` and answers with
    ``data``. Both return each text's position in the request with its score. The service truncates texts longer than
    the model's context.

    Args:
        model: The service's name of the model.
        client: Sends the requests.
        dialect: Whose field names are used.
    """

    def __init__(self, model: str, client: ProviderClient, dialect: Literal["cohere", "voyage"] = "cohere") -> None:
        self.name = f"{client.service}:{model}"
        self._model = model
        self._client = client
        self._limit, self._results = ("top_k", "data") if dialect == "voyage" else ("top_n", "results")

    @measured("model.rerank")
    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, higher for a better answer.

        Raises:
            TransientError: The service could not be reached, or asked to wait, after bounded retries.
            ProviderError: The service refused permanently, or its answers were unusable.
        """
        return self._client.call(partial(self._ask, question, texts)) if texts else []

    def _ask(self, question: str, texts: Sequence[str], client: OpenAI) -> list[float]:
        body = {
            "model": self._model,
            "query": well_formed(question),
            "documents": [well_formed(text).strip() or EMPTY_TEXT for text in texts],
            self._limit: len(texts),
        }
        answer: Any = client.post("/rerank", cast_to=object, body=body)
        try:
            found = {item["index"]: float(item["relevance_score"]) for item in answer[self._results]}
            scores = [found[number] for number in range(len(texts))]
        except (KeyError, TypeError, ValueError) as error:
            raise UnusableAnswerError(f"{self._client.service} did not answer with one score for each text.") from error
        if not all(map(math.isfinite, scores)):
            raise UnusableAnswerError(f"{self._client.service} answered with a score that is not a finite number.")
        return scores
