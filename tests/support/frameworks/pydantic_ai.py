"""Pydantic AI with the tools of the MCP server: with its real package, against the server at NEURIGRAPH_URL."""

import asyncio
import os

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from neurigraph_client import Memory


def asking(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model without a network: it searches once, and says what came back."""
    found = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    assert "search_memory" in {tool.name for tool in info.function_tools}
    if found:
        return ModelResponse(parts=[TextPart(str(found[0].content))])
    return ModelResponse(parts=[ToolCallPart("search_memory", {"query": "Where is the ladder?"})])


def test_an_agent_uses_the_tools() -> None:
    Memory().add("The ladder leans behind the greenhouse.", wait=60)
    key = os.environ["NEURIGRAPH_API_KEY"]
    tools = MCPToolset(f"{os.environ['NEURIGRAPH_URL']}/mcp", headers={"Authorization": f"Bearer {key}"})
    answer = asyncio.run(Agent(FunctionModel(asking), toolsets=[tools]).run("Where is the ladder?"))
    assert "greenhouse" in answer.output
