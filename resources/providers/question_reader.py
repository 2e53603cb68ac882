"""Reading of questions by a chat model, while somebody waits: other wordings, and the order of the hits.

Belongs here: two requests, each one call with few tokens. Instructions are in ``prompts``, one request in
``providers.chat``. The client decides how long a caller waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from pydantic import BaseModel

from neurigraph_pipelines.model.measuring import measured
from resources.providers.answers import OrderAnswer, WordingsAnswer, read_wordings
from resources.providers.chat import ChatModel, enclosed, prompt, unchanged
from resources.providers.retries import ProviderClient
from resources.well_formed import well_formed

A = TypeVar("A", bound=BaseModel)

PASSAGE_CHARACTERS = 600
"""Most characters of one text that is put in order: 50 of them are about 8,000 tokens."""

_INDENT = "\n    "


class ChatQuestionReader:
    """Implements ``ports.Expander`` and ``ports.Reranker`` over chat completions of the OpenAI protocol.

    Questions and texts are data: marker lines that they cannot predict enclose them, further lines are indented, and
    an answer is read as numbers or as short phrases to search for. The worst that a text can do is to be put first.

    Args:
        model: The service's name of the model.
        client: Sends the requests; its limits bound how long a caller waits.
        is_compatible: Whether the server is another one than OpenAI's.
    """

    def __init__(self, model: str, client: ProviderClient, *, is_compatible: bool = False) -> None:
        self._chat = ChatModel(model, is_compatible=is_compatible)
        self.name = self._chat.name
        self._client = client

    @measured("model.expand")
    def wordings(self, question: str, most: int) -> list[str]:
        """Return other phrases that find what a question asks for, at most ``most``, in one call.

        Raises:
            TransientError: The service could not be reached, or asked to wait, after bounded retries.
            ProviderError: The service refused permanently, or its answers were unusable.
        """
        instructions = prompt("expand").replace("{most}", str(most))
        answer = self._ask(instructions, {"QUESTION": well_formed(question)}, WordingsAnswer)
        return read_wordings(answer, question)[:most]

    @measured("model.rerank")
    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, in one call: higher if named earlier, and 0 if not named.

        Raises:
            TransientError: As ``wordings``.
            ProviderError: As ``wordings``.
        """
        passages = "\n".join(f"[{number}] {_shortened(text)}" for number, text in enumerate(texts, start=1))
        blocks = {"QUESTION": well_formed(question), "PASSAGES": passages}
        scores = [0.0] * len(texts)
        named = dict.fromkeys(self._ask(prompt("rerank"), blocks, OrderAnswer).passages) if texts else ()
        for place, number in enumerate(named):
            if 1 <= number <= len(texts):
                scores[number - 1] = 1 / (1 + place)
        return scores

    def _ask(self, instructions: str, blocks: dict[str, str], shape: type[A]) -> A:
        return self._client.call(partial(self._chat.ask, instructions, enclosed(blocks), shape, unchanged))


def _shortened(text: str) -> str:
    """Return the beginning of a text, with its further lines indented, so that none looks like another passage."""
    return _INDENT.join(well_formed(text)[:PASSAGE_CHARACTERS].splitlines())
