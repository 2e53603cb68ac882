"""The memory service of Google's ADK: with its real package, against the server at NEURIGRAPH_URL."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai.types import Content, FunctionCall, Part

from neurigraph_client import Memory, NotFound
from neurigraph_client.google_adk import NeurigraphMemoryService


def said(author: str, *parts: Part, id: str = "") -> Event:  # noqa: A002
    return Event(author=author, content=Content(parts=list(parts)), id=id)


async def texts(service: NeurigraphMemoryService, query: str, user: str = "bob") -> str:
    found = await service.search_memory(app_name="boats", user_id=user, query=query)
    return "\n".join(part.text or "" for one in found.memories for part in one.content.parts or [])


def test_a_session_is_found_by_its_user_alone_and_grows() -> None:
    async def run() -> None:
        client = Memory()
        service = NeurigraphMemoryService(client)
        call = Part(function_call=FunctionCall(name="look", args={"at": "zeppelin"}))
        events = [said("user", Part(text="My mooring is in Kappeln."), id="e1"), said("captain", call, id="e2")]
        session = Session(id="s1", app_name="boats", user_id="bob", events=events)
        await service.add_session_to_memory(session)
        session.events.append(said("captain", Part(text="I hmm", thought=True), Part(text="Noted: Kappeln."), id="e3"))
        await service.add_session_to_memory(session)
        (source,) = [one for one in client.sources("conversation") if one.origin == "google-adk"]
        assert client.stored("conversation", source.source_id).message_count == 2
        session.events.append(said("user", Part(text="My sail is red."), id="e4"))
        await service.add_session_to_memory(session)
        assert client.stored("conversation", source.source_id).message_count == 3
        assert "Kappeln" in await texts(service, "Where is my mooring?")
        assert "Kappeln" not in await texts(service, "Where is my mooring?", user="eve")
        await service.add_session_to_memory(Session(id="s2", app_name="boats", user_id="bob"))

    asyncio.run(run())


def test_a_memory_is_added_and_deleted() -> None:
    async def run() -> None:
        service = NeurigraphMemoryService(Memory(), budget=300)
        entry = MemoryEntry(content=Content(parts=[Part(text="The anchor weighs 12 kg.")]), custom_metadata={"n": 1})
        await service.add_memory(app_name="boats", user_id="kim", memories=[entry])
        (source,) = [one for one in Memory().sources("note") if one.metadata == {"n": 1}]
        Memory().stored("note", source.source_id)
        found = await service.search_memory(app_name="boats", user_id="kim", query="How heavy is the anchor?")
        assert "12 kg" in str(found.memories[0].content)
        asked: dict[str, Any] = {"app_name": "boats", "user_id": "kim", "memory_id": found.memories[0].id}
        with pytest.raises(NotFound):
            await service.delete_memory(**{**asked, "user_id": "eve"})
        assert "12 kg" in await texts(service, "How heavy is the anchor?", user="kim")
        await service.delete_memory(**asked)
        assert await texts(service, "How heavy is the anchor?", user="kim") == ""
        with pytest.raises(NotFound):
            await service.delete_memory(**{**asked, "memory_id": str(uuid4())})
        with pytest.raises(ValueError, match="UUID"):
            await service.delete_memory(app_name="boats", user_id="kim", memory_id="x")

    asyncio.run(run())


class Parrot(BaseLlm):
    """A model without a network: it says the whole request."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        whole = str([part.text for one in llm_request.contents for part in one.parts or []])
        yield LlmResponse(content=Content(role="model", parts=[Part(text=whole)]))


def test_an_agent_uses_it() -> None:
    async def run() -> str:
        service = NeurigraphMemoryService(Memory())
        await service.add_events_to_memory(
            app_name="boats", user_id="ann", events=[said("user", Part(text="I sail from Maasholm."), id="a1")]
        )
        agent = LlmAgent(name="parrot", model=Parrot(model="parrot"), tools=[PreloadMemoryTool()])
        sessions = InMemorySessionService()
        await sessions.create_session(app_name="boats", user_id="ann", session_id="now")
        runner = Runner(app_name="boats", agent=agent, session_service=sessions, memory_service=service)
        asked = Content(role="user", parts=[Part(text="From where do I sail?")])
        events = [one async for one in runner.run_async(user_id="ann", session_id="now", new_message=asked)]
        return str(events[-1].content)

    assert "Maasholm" in asyncio.run(run())
