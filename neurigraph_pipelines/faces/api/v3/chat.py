"""``/chat/v2``: a question to a chat, answered as server-sent events or as one JSON object."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping

from fastapi import APIRouter, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse, StreamingResponse
from psycopg import OperationalError
from pydantic.alias_generators import to_camel

from neurigraph_pipelines.faces.api.authentication import InstallationDep, Writer
from neurigraph_pipelines.faces.api.lag import NotesLag
from neurigraph_pipelines.faces.api.problems import documented, problem_of
from neurigraph_pipelines.faces.api.v3 import forms, responses
from neurigraph_pipelines.faces.operations.sight import look
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.retrieval.chat.loop import Event
from neurigraph_pipelines.retrieval.chat.loop import chat as answer

router = APIRouter(prefix="/chat", tags=["v3"], responses=documented(401, 403, 404, 409, 413, 422, 503))

EVENT_STREAM = "text/event-stream"

_KINDS = ["conversation", "tool_use", "tool_result", "assistant", "done", "error"]
_PARTS = {
    "event": {"type": "string", "enum": _KINDS},
    "data": {"type": "string", "contentMediaType": "application/json"},
}
_EVENT = {"type": "object", "properties": _PARTS, "required": [*_PARTS]}
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_log = logging.getLogger("neurigraph.api")


@router.post(
    "/v2",
    dependencies=[NotesLag],
    response_class=JSONResponse,
    responses={
        200: {
            "description": "Events `conversation`, `tool_use`, `tool_result`, `assistant` and `done`, or `error`, each "
            "with a JSON object; the JSON object with `stream` false.",
            "content": {EVENT_STREAM: {"schema": _EVENT}},
            "model": responses.ChatReply,
        }
    },
)
def chat(body: forms.Chat, caller: Writer, installation: InstallationDep) -> Response:
    """Ask a question in a chat that is remembered. Only the messages that may hold the answer are read."""
    look(installation.database, caller, conversation_id=body.conversation_id)
    for document_id in body.scoped_document_ids:
        look(installation.database, caller, document_id=document_id)
    events = answer(installation.acting_for(caller), body.asked)
    if body.stream:
        return StreamingResponse(_streamed(events), media_type=EVENT_STREAM, headers=_HEADERS)
    found = {name: value for event in events for name, value in event.data.items()}
    return JSONResponse(responses.ChatReply.model_validate(found).model_dump(mode="json", by_alias=True))


def _streamed(events: Iterator[Event]) -> Iterator[bytes]:
    """Yield events as lines. The status is sent already, so an error is the last event."""
    try:
        for event in events:
            yield _line(event.type, {to_camel(name): value for name, value in event.data.items()})
    except (NeurigraphError, OperationalError) as error:
        yield _line("error", json.loads(bytes(problem_of(error).body)))
    except Exception:  # the answer has begun: a line is the only way to say so
        _log.exception("a chat failed")
        yield _line("error", {"title": "Internal Server Error", "status": 500})


def _line(kind: str, data: Mapping[str, object]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(jsonable_encoder(data), ensure_ascii=False)}\n\n".encode(
        "utf-8", "backslashreplace"
    )
