"""One chat model of a server that speaks the OpenAI protocol: a request, and an answer of a schema.

Belongs here: how content is enclosed, what a request holds, and which answers are refused. What is asked for is in
``providers.language_model`` and ``providers.question_reader``, instructions in ``prompts``, how a server is asked for a
schema in ``providers.answer_formats``.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from neurigraph_pipelines.model.errors import ProviderError
from neurigraph_pipelines.model.measuring import report
from resources.providers.answer_formats import AnswerFormats
from resources.providers.retries import UnusableAnswerError

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.chat import ChatCompletion

A = TypeVar("A", bound=BaseModel)
R = TypeVar("R")


class ChatModel:
    """Asks one model for answers of a schema. Content is always data, and answers must match their schema.

    Args:
        model: The service's name of the model.
        is_compatible: Whether the server is another one than OpenAI's: then it need not support structured outputs.
    """

    def __init__(self, model: str, *, is_compatible: bool = False) -> None:
        self.name = f"openai:{model}"
        self._formats = AnswerFormats(is_compatible=is_compatible)
        self._model = model

    def ask(self, instructions: str, question: str, shape: type[A], read: Callable[[A], R | None], client: OpenAI) -> R:
        """Send one request and read the answer; ``read`` returns something false for an answer without content.

        Raises:
            UnusableAnswerError: Another attempt may give a better answer.
            ProviderError: The model declined to answer.
        """
        completion = self._complete(instructions, question, shape, client)
        try:
            choice = completion.choices[0]
            message = choice.message
            refusal, content, ending = message.refusal, message.content, choice.finish_reason
        except (AttributeError, IndexError, TypeError) as error:
            raise UnusableAnswerError(f"{self.name} answered without a message.") from error
        if refusal or ending == "content_filter":
            raise ProviderError(f"{self.name} declined to answer about this content.")
        if ending == "length":
            raise UnusableAnswerError(f"{self.name} reached its length limit and cut off the answer.")
        try:
            answer = read(self._formats.read(content or "", shape))
        except ValidationError as error:
            raise UnusableAnswerError(f"{self.name} answered in a different schema than requested.") from error
        if not answer:
            raise UnusableAnswerError(f"{self.name} gave an answer without content.")
        return answer

    def _complete(self, instructions: str, question: str, shape: type[BaseModel], client: OpenAI) -> ChatCompletion:
        """Send one request, in another format if the server refuses this one."""
        from openai import BadRequestError, UnprocessableEntityError

        while True:
            how = self._formats.current
            system = instructions + self._formats.instructions(how, shape)
            try:
                completion: ChatCompletion = client.chat.completions.create(
                    model=self._model,
                    messages=[{"role": "system", "content": system}, {"role": "user", "content": question}],
                    **self._formats.parameters(how, shape),
                )
            except (BadRequestError, UnprocessableEntityError) as error:
                if not self._formats.step_down(how, str(error)):
                    raise
            else:
                used = completion.usage  # compatible servers may leave it out
                sent, received = (used.prompt_tokens, used.completion_tokens) if used else (0, 0)
                report("model_answered", sent=sent, received=received)
                return completion


def unchanged(answer: A) -> A:
    """Return the answer as it is, because an empty one is valid, or checked after all windows have answered."""
    return answer


def enclosed(blocks: dict[str, str]) -> str:
    """Enclose content in marker lines with a random number of this request, so that content cannot forge them."""
    mark = secrets.token_hex(8)
    return "\n\n".join(f"BEGIN {name} {mark}\n{text}\nEND {name} {mark}" for name, text in blocks.items())


@cache
def prompt(name: str) -> str:
    """Read the instructions of one kind of request."""
    return (Path(__file__).parents[1] / "prompts" / f"{name}.md").read_text(encoding="utf-8")
