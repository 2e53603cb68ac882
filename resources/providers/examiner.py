"""Reading and judging by a chat model, for evaluations. Instructions are in ``prompts``."""

from __future__ import annotations

import threading
from datetime import datetime
from functools import partial
from typing import TypeVar

from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import TokenCounter
from neurigraph_pipelines.text.visible import visible
from resources.providers.answers import StrictAnswer
from resources.providers.chat import ChatModel, enclosed, prompt, unchanged
from resources.providers.retries import ProviderClient
from resources.well_formed import well_formed

A = TypeVar("A", bound=StrictAnswer)

ANSWER_CHARACTERS = 4_000
"""Most characters of an answer that are kept and judged."""


class ReadingAnswer(StrictAnswer):
    """An answer from memory; empty if the memory does not hold one."""

    answer: str


class JudgementAnswer(StrictAnswer):
    """Why an answer says what is expected, or does not, and whether it does."""

    reason: str
    correct: bool


class ChatExaminer:
    """Implements ``ports.Examiner`` over chat completions of the OpenAI protocol.

    Questions, memory and answers are data: marker lines that they cannot predict enclose them.

    Args:
        model: The service's name of the model.
        client: Sends the requests.
        tokens: Counts what is sent and received; requests that are repeated count once.
        is_compatible: Whether the server is another one than OpenAI's.
    """

    def __init__(
        self, model: str, client: ProviderClient, tokens: TokenCounter, *, is_compatible: bool = False
    ) -> None:
        self._chat = ChatModel(model, is_compatible=is_compatible)
        self.name = self._chat.name
        self._client = client
        self._tokens = tokens
        self._counting = threading.Lock()
        self.spent = (0, 0, 0)

    @measured("model.read")
    def read(self, question: str, asked_at: datetime, memory: str) -> str:
        """Return the answer to a question from some memory, in one call; empty if the memory does not hold it.

        Raises:
            TransientError: The service could not be reached, or asked to wait, after bounded retries.
            ProviderError: The service refused permanently, or its answers were unusable.
        """
        asked = f"Asked on {asked_at:%A %Y-%m-%d %H:%M}: {well_formed(question)}"
        blocks = {"QUESTION": asked, "MEMORY": visible(well_formed(memory))}
        return well_formed(self._ask("eval_reader", blocks, ReadingAnswer).answer).strip()[:ANSWER_CHARACTERS]

    @measured("model.judge_answer")
    def judge(self, question: str, expected: str, given: str, *, given_first: bool) -> bool:
        """Return whether an answer says what is expected, in one call.

        Raises:
            TransientError: As ``read``.
            ProviderError: As ``read``.
        """
        answers = {"EXPECTED": visible(well_formed(expected)), "GIVEN": visible(well_formed(given))}
        ordered = dict(reversed(answers.items())) if given_first else answers
        return self._ask("eval_judge", {"QUESTION": well_formed(question), **ordered}, JudgementAnswer).correct

    def _ask(self, instructions: str, blocks: dict[str, str], shape: type[A]) -> A:
        text, content = prompt(instructions), enclosed(blocks)
        sent = self._tokens.count(text) + self._tokens.count(content)
        answer = self._client.call(partial(self._chat.ask, text, content, shape, unchanged), sent)
        with self._counting:
            calls, before, received = self.spent
            self.spent = (calls + 1, before + sent, received + self._tokens.count(answer.model_dump_json()))
        return answer
