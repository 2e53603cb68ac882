"""Arguments of tools as strict clients send them: every one, null or empty for what is left out."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from pydantic import ValidationError

from neurigraph_pipelines.faces.mcp.server import TOOLS
from neurigraph_pipelines.faces.mcp.tools.tool import Tool

REQUIRED = {"record_id": str(uuid4()), "query": "food", "question": "What food?", "content": "Soup."}


def lists_of_types(schema: Any) -> list[Any]:
    """Return the types and alternatives of a schema that some clients refuse."""
    if isinstance(schema, list):
        return [found for one in schema for found in lists_of_types(one)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if isinstance(schema.get("type"), list) or "anyOf" in schema else []
    return own + [found for one in schema.values() for found in lists_of_types(one)]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_null_and_empty_are_the_same_as_left_out(tool: Tool[Any]) -> None:
    schema = tool.listed().input_schema
    given = {name: REQUIRED[name] for name in schema.get("required", ())}
    alone = tool.arguments.model_validate(given)
    optional = schema.get("properties", {}).keys() - given.keys()
    for empty in (None, "", " "):
        assert tool.arguments.model_validate({**given, **dict.fromkeys(optional, empty)}) == alone
    assert lists_of_types(schema) == []


@pytest.mark.parametrize("value", [True, False])
def test_truth_is_no_number(value: bool) -> None:
    (search,) = (tool for tool in TOOLS if tool.name == "search_memory")
    with pytest.raises(ValidationError, match="limit is a number, not"):
        search.arguments.model_validate({"query": "food", "limit": value})
