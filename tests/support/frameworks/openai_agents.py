"""The session of the OpenAI Agents SDK: with its real package, against the server at NEURIGRAPH_URL."""

import asyncio
from typing import Any

from agents import Agent, ModelResponse, RunConfig, Runner, Usage
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from neurigraph_client import Memory
from neurigraph_client.openai_agents import NeurigraphSession

ITEMS: list[Any] = [
    {"role": "user", "content": "Which harbour has the best fish?"},
    {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"n": 1.50}'},
    {"type": "function_call_output", "call_id": "c1", "output": "Kappeln"},
    {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Kappeln has.", "annotations": []}],
    },
]


class Echo(Model):
    """A model without a network: it says how many items it got."""

    async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **named: Any) -> ModelResponse:  # noqa: A002
        text = ResponseOutputText(text=f"{len(input)} items", type="output_text", annotations=[])
        message = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *rest: Any, **named: Any) -> Any:
        raise NotImplementedError


def test_items_come_back_as_they_were_added() -> None:
    async def run() -> None:
        memory = Memory()
        session = NeurigraphSession("agents-1", memory, title="Fish")
        assert isinstance(session, Session)
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items(ITEMS)
        await session.add_items([])
        assert await session.get_items() == ITEMS
        assert await session.get_items(limit=2) == ITEMS[2:]
        assert await session.get_items(limit=0) == []
        assert await session.pop_item() == ITEMS[3]
        assert await session.get_items() == ITEMS[:3]
        await session.add_items(ITEMS[3:])
        limited = NeurigraphSession("agents-1", memory, session_settings=SessionSettings(limit=1))
        assert await limited.get_items() == ITEMS[3:]
        await session.clear_session()
        assert await session.get_items() == []
        await session.add_items(ITEMS[:1])
        assert await session.get_items() == ITEMS[:1]
        assert await NeurigraphSession("agents-2", memory).get_items() == []

    asyncio.run(run())


def test_an_agent_uses_it() -> None:
    session = NeurigraphSession("agents-3", Memory())
    agent = Agent(name="Echo", model=Echo())
    config = RunConfig(tracing_disabled=True)
    first = Runner.run_sync(agent, "I sail from Kappeln.", session=session, run_config=config)
    second = Runner.run_sync(agent, "From where do I sail?", session=session, run_config=config)
    assert (first.final_output, second.final_output) == ("1 items", "3 items")
    assert "Kappeln" in Memory().ask("From where do I sail?").answer
