"""Response bodies of the provider on loopback, and its complaints about invalid requests.

Belongs here: the published form of requests and responses of OpenAI, Cohere and Voyage.
Not here: HTTP and faults (``model_provider``), and the rules for contents (``model_rules``).
"""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.model_rules import answer_chat, embed_text


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server of the protocol departs from OpenAI's own.

    Attributes:
        refused: Words in a request's ``response_format`` for which it answers 400.
        enforces: Whether its answers fit the schema that was sent.
        answer: What stands around the JSON of an answer that it does not enforce.
        drops: Fields that such an answer lacks.
    """

    refused: tuple[str, ...] = ()
    enforces: bool = True
    answer: str = "{json}"
    drops: tuple[str, ...] = ()


OPENAI = Dialect()


def format_complaint(body: dict[str, Any], dialect: Dialect) -> str | None:
    """Return why a server refuses the format that a request asks for, or None."""
    wanted = json.dumps(body.get("response_format", {}))
    found = next((word for word in dialect.refused if f'"{word}"' in wanted), None)
    return f"response_format: {found} is not supported" if found else None


def chat_answer(
    body: dict[str, Any], dialect: Dialect = OPENAI, answer: Callable[[str, str], dict[str, Any]] = answer_chat
) -> dict[str, Any]:
    """A chat completion that conforms to the schema that was sent, as far as the dialect goes."""
    if "tools" in body:
        return _with_calls(body)
    wanted = body.get("response_format", {}).get("json_schema", {}).get("name") if dialect.enforces else None
    spelt_out = re.search(r'"title": "(\w+Answer)", "type": "object"\}$', body["messages"][0]["content"])
    name = wanted or (spelt_out[1] if spelt_out else None)
    if name is None:
        return _completion(body, "Sure! I would be happy to help with that.")
    content = answer(name, body["messages"][-1]["content"])
    if dialect.enforces:
        return _completion(body, json.dumps(content))
    content = {key: value for key, value in content.items() if key not in dialect.drops}
    return _completion(body, dialect.answer.replace("{json}", json.dumps({**content, "comment": "Done."})))


def _completion(body: dict[str, Any], content: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": content, "refusal": None},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _with_calls(body: dict[str, Any]) -> dict[str, Any]:
    """A completion that calls tools: those that the question names, one a turn, as ``CALL name {arguments}``.

    ``CALL`` stands at the beginning of a line of the question; ``FOREVER`` calls the last one again and again.
    """
    turns = sum(1 for message in body["messages"] if message["role"] == "assistant")
    asked = body["messages"][1]["content"]
    calls = re.findall(r"^CALL (\w+) (.*)$", asked, re.MULTILINE)
    answer = _completion(body, "")
    if calls and (turns < len(calls) or "FOREVER" in asked):
        name, arguments = calls[min(turns, len(calls) - 1)]
        call = {"id": f"call_{turns}", "type": "function", "function": {"name": name, "arguments": arguments}}
        answer["choices"][0] |= {"finish_reason": "tool_calls"}
        answer["choices"][0]["message"] |= {"content": None, "tool_calls": [call]}
    return answer


def embedding_answer(body: dict[str, Any], voyage: bool) -> dict[str, Any]:
    """Vectors for the input, last one first: a client must go by ``index``."""
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    width = body.get("output_dimension" if voyage else "dimensions") or (1024 if voyage else 1536)
    data = []
    for index, text in enumerate(texts):
        vector = embed_text(text, width)
        packed = base64.b64encode(struct.pack(f"<{width}f", *vector)).decode()
        embedding = packed if body.get("encoding_format") == "base64" else vector
        data.append({"object": "embedding", "index": index, "embedding": embedding})
    usage = {"total_tokens": 1} if voyage else {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "data": data[::-1], "model": body["model"], "usage": usage}


def rerank_answer(body: dict[str, Any]) -> dict[str, Any]:
    """Scores of the texts, best first: a client must go by ``index``."""
    asked = embed_text(body["query"], 512)
    scored = [
        {"index": index, "relevance_score": sum(a * b for a, b in zip(asked, embed_text(text, 512), strict=True))}
        for index, text in enumerate(body["documents"])
    ]
    scored.sort(key=lambda item: -item["relevance_score"])
    if "top_k" in body:
        return {"object": "list", "data": scored[: body["top_k"]], "model": body["model"], "usage": {"total_tokens": 1}}
    return {"id": "rerank-1", "results": scored[: body["top_n"]], "meta": {"api_version": {"version": "2"}}}


def rerank_complaint(body: dict[str, Any]) -> str | None:
    """Return why Cohere or Voyage would respond 400, or None."""
    allowed = {"model", "query", "documents", "top_n", "max_tokens_per_doc", "top_k", "truncation", "return_documents"}
    if unknown := set(body) - allowed:
        return f"unknown field: {min(unknown)}"
    if not body["query"].strip():
        return "query must not be empty"
    if not body["documents"] or "" in body["documents"]:
        return "documents must not be empty"
    return "too many documents" if len(body["documents"]) > 1000 else None


def openai_complaint(body: dict[str, Any]) -> str | None:
    """Return why OpenAI would respond 400, or None."""
    if not body["input"] or "" in body["input"]:
        return "input cannot be an empty string"
    if len(body["input"]) > 2048:
        return "input array may not be longer than 2048"
    if "dimensions" in body and not body["model"].startswith("text-embedding-3"):
        return "This model does not support specifying dimensions."
    return None


def voyage_complaint(body: dict[str, Any]) -> str | None:
    """Return why Voyage would respond 400, or None."""
    allowed = {"input", "model", "input_type", "truncation", "output_dimension", "output_dtype", "encoding_format"}
    if unknown := set(body) - allowed:
        return f"Argument '{min(unknown)}' is not supported by our API"
    if body.get("encoding_format") not in (None, "base64"):
        return f"Value '{body['encoding_format']}' supplied for argument 'encoding_format' is not valid"
    if len(body["input"]) > 1000:
        return "The batch size limit is 1000."
    if "" in body["input"]:
        return "Input cannot contain empty strings or empty lists"
    return None


def error_answer(message: str, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "error", "param": None, "code": code}}
