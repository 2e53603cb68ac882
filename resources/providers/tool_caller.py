"""A chat model that calls tools, by the protocol of OpenAI's chat completions.

Belongs here: one request with its tools and results, and which answers are refused. Tools and their bounds are in
``neurigraph_pipelines.retrieval.chat``, instructions in ``prompts``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from neurigraph_pipelines.model.chat import Exchange, ToolCall, ToolSpec, Turn
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.text.exact_json import parse_exactly
from neurigraph_pipelines.views.scalars import WireObject
from resources.providers.chat import enclosed, prompt
from resources.providers.retries import ProviderClient, UnusableAnswerError
from resources.well_formed import well_formed

if TYPE_CHECKING:
    from openai import OpenAI

MOST_CALLS = 12
"""Most calls that are read of one answer."""

_MAX_ID = 200


class ChatToolCaller:
    """Implements ``ports.ToolCaller``. All that is not instruction is data between marker lines.

    Args:
        model: The service's name of the model.
        client: Sends the requests.
    """

    def __init__(self, model: str, client: ProviderClient) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._client = client

    @measured("model.tools")
    def calls(
        self, turns: Sequence[Turn], asked_at: datetime, tools: Sequence[ToolSpec], exchanges: Sequence[Exchange]
    ) -> list[ToolCall]:
        """Return the next calls of tools, in one request; an empty list if the model calls none.

        Raises:
            TransientError: The service could not be reached, or asked to wait, after bounded retries.
            ProviderError: The service refused permanently, or its answers were unusable.
        """
        *before, last = turns
        chat = "\n".join(f"{turn.role}: {turn.content}" for turn in before)
        asked = f"Asked on {asked_at:%A %Y-%m-%d %H:%M}: {well_formed(last.content)}"
        blocks = {"CHAT": well_formed(chat), "QUESTION": asked} if before else {"QUESTION": asked}
        messages: list[dict[str, object]] = [
            {"role": "system", "content": prompt("tools")},
            {"role": "user", "content": enclosed(blocks)},
        ]
        for exchange in exchanges:
            messages += _exchanged(exchange)

        def ask(client: OpenAI) -> list[ToolCall]:
            create: Any = client.chat.completions.create
            completion = create(
                model=self._model,
                messages=messages,
                tools=[{"type": "function", "function": _described(tool)} for tool in tools],
            )
            return self._read(completion)

        return self._client.call(ask)

    def _read(self, completion: Any) -> list[ToolCall]:
        try:
            called = completion.choices[0].message.tool_calls or ()
            return [
                ToolCall(str(one.id)[:_MAX_ID], str(one.function.name)[:_MAX_ID], _object(one.function.arguments))
                for one in called[:MOST_CALLS]
            ]
        except (AttributeError, IndexError, TypeError) as error:
            raise UnusableAnswerError(f"{self.name} answered without a message.") from error


def _described(tool: ToolSpec) -> dict[str, object]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _exchanged(exchange: Exchange) -> list[WireObject]:
    """Return the messages of one turn: the calls, and a result for each."""
    calls = [
        {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments or {}))},
        }
        for call in exchange.calls
    ]
    results = [
        {"role": "tool", "tool_call_id": call.call_id, "content": enclosed({"RESULT": well_formed(result)})}
        for call, result in zip(exchange.calls, exchange.results, strict=True)
    ]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


def _object(arguments: object) -> dict[str, object] | None:
    """Return the arguments of a call; None if they are no JSON object."""
    try:
        read = parse_exactly(str(arguments) or "{}")
    except (InvalidInputError, ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None
