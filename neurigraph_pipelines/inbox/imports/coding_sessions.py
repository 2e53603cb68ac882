"""Sessions of coding agents as Claude Code, Codex and Cursor keep them: a file of JSON lines for each session.

None of the three specifies its form. What is read: the words of both sides, the uses of tools with their files and
commands, and results and failures, kept short. What the programs put in themselves is left out, and so is reasoning. A
file that is still written may end within a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from neurigraph_pipelines.inbox.imports.assemble import Item, Spoken, assemble, message_id, moment
from neurigraph_pipelines.inbox.imports.json_stream import parse_object
from neurigraph_pipelines.inbox.imports.jsonl import MAX_LINE_BYTES, lines_of
from neurigraph_pipelines.inbox.imports.openai import text_of_parts
from neurigraph_pipelines.inbox.imports.source import Reading
from neurigraph_pipelines.model import IncomingMessage, MessageType, RejectedItem, Role, ToolEvent
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.exact_json import KeepingParser
from neurigraph_pipelines.text.json_fields import (
    Json,
    JsonObject,
    as_object,
    as_objects,
    as_text,
    number_of,
    object_of,
    objects_of,
    text_of,
)

KEPT_CHARACTERS = 2_000
"""Of each text of a tool: its beginning and its end."""

_PUT_IN = re.compile(
    r"<(system-reminder|local-command-[\w-]+|command-[\w-]+|ide_[\w-]+|environment_context|user_instructions|"
    r"permissions instructions|INSTRUCTIONS|timestamp)\b[^>]*>.*?</\1>|^# AGENTS\.md instructions\b.*",
    re.DOTALL | re.IGNORECASE,
)
_QUERY = re.compile(r"</?user_query>")
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}


@dataclass(slots=True)
class _Session:
    """The title, the folder and the other fields of a session as a whole."""

    key: str | None = None
    title: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)

    def note(self, **known: str | None) -> None:
        """Note the known fields of the session; the first value of each field stays."""
        for name, value in known.items():
            if value:
                self.metadata.setdefault(name, value)


_Reader = Callable[[JsonObject, _Session], Iterator[IncomingMessage]]


def claude_code(reading: Reading) -> Iterator[Item]:
    """Read a session of Claude Code."""
    return _read(reading, "claude-code", _of_claude_code)


def codex(reading: Reading) -> Iterator[Item]:
    """Read a session of Codex."""
    return _read(reading, "codex", _of_codex)


def cursor(reading: Reading) -> Iterator[Item]:
    """Read a session of Cursor, which keeps no times and no results of tools."""
    return _read(reading, "cursor", _of_cursor)


def _read(reading: Reading, program: str, read: _Reader) -> Iterator[Item]:
    session, messages = _Session(), list[Spoken]()
    name = reading.part.name
    with reading.open() as stream:
        for number, line in lines_of(stream, MAX_LINE_BYTES):
            where = f"{name}, line {number}"
            if isinstance(line, RejectedItem):
                messages.append(replace(line, where=where))
                continue
            try:
                raw = parse_object(line, KeepingParser())
            except InvalidInputError as error:
                messages.append(RejectedItem(where, str(error)))
                continue
            for said in read(raw, session):
                at = said.occurred_at or moment(raw.get("timestamp"))
                key = said.external_id or message_id(len(messages) + 1, said)
                messages.append(replace(said, occurred_at=at, external_id=key))
    rejected = [one for one in messages if isinstance(one, RejectedItem)]
    if rejected and len(rejected) == len(messages):
        yield from rejected
        return
    yield from assemble(
        name,
        f"{program}:{session.key or PurePath(name).stem}",
        messages,
        title=session.title,
        fallback_time=reading.fallback_time,
        details=SourceDetails(origin=program, metadata=session.metadata),
    )


def _of_claude_code(raw: JsonObject, session: _Session) -> Iterator[IncomingMessage]:
    if raw.get("type") == "summary":
        session.title = session.title or text_of(raw, "summary")
    role = _ROLES.get(str(raw.get("type")))
    if role is None or raw.get("isMeta") is True or raw.get("isSidechain") is True:
        return
    session.key = session.key or text_of(raw, "sessionId")
    session.note(folder=text_of(raw, "cwd"), branch=text_of(raw, "gitBranch"))
    content, key = object_of(raw, "message").get("content"), text_of(raw, "uuid")
    whole: Json = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = as_objects(whole)
    for number, said in enumerate(_blocks(blocks, role)):
        yield replace(said, external_id=f"{key}-{number}" if key else None)


def _of_cursor(raw: JsonObject, _: _Session) -> Iterator[IncomingMessage]:
    if (role := _ROLES.get(str(raw.get("role")))) is not None:
        yield from _blocks(objects_of(object_of(raw, "message"), "content"), role)


def _blocks(blocks: list[JsonObject], role: Role) -> Iterator[IncomingMessage]:
    """Yield the words of a message, and the uses of tools and their results in it."""
    for number, block in enumerate(blocks, 1):
        kind = block.get("type")
        if kind == "text" and (words := _own_words(text_of(block, "text"))):
            yield IncomingMessage(role, words)
        elif kind == "tool_use":
            yield _use(text_of(block, "name"), text_of(block, "id") or f"use-{number}", block.get("input"))
        elif kind == "tool_result":
            failed = block.get("is_error") is True
            said = _result(None, text_of(block, "tool_use_id"), text_of_parts(block.get("content")), failed=failed)
            yield from said


def _of_codex(raw: JsonObject, session: _Session) -> Iterator[IncomingMessage]:
    said, kind = object_of(raw, "payload"), raw.get("type")
    if kind == "session_meta":
        git = object_of(said, "git")
        session.key = session.key or text_of(said, "id")
        session.note(
            folder=text_of(said, "cwd"), branch=text_of(git, "branch"), repository=text_of(git, "repository_url")
        )
    if kind != "response_item":
        return
    of, use = said.get("type"), text_of(said, "call_id")
    if of == "message" and (role := _ROLES.get(str(said.get("role")))) is not None:
        if words := _own_words(text_of_parts(said.get("content"))):
            yield IncomingMessage(role, words)
    elif of in ("function_call", "custom_tool_call", "local_shell_call"):
        given = next((said[name] for name in ("arguments", "input", "action") if name in said), None)
        yield _use(text_of(said, "name") or "shell", use or "use", given)
    elif of in ("function_call_output", "custom_tool_call_output"):
        output = said.get("output")
        try:
            told = parse_object(output.encode(), KeepingParser()) if isinstance(output, str) else as_object(output)
        except InvalidInputError:
            told = {"output": output}
        code = number_of(object_of(told, "metadata"), "exit_code") or 0
        yield from _result(None, use, as_text(told.get("output")) or text_of_parts(output), failed=code != 0)


def _own_words(text: str | None) -> str:
    return _QUERY.sub("", _PUT_IN.sub("", text or "")).strip()


def _use(name: str | None, use: str, given: Json) -> IncomingMessage:
    event = ToolEvent(MessageType.TOOL_USE, name or "tool", use, input=_short(given))
    return IncomingMessage(Role.ASSISTANT, "", event=event)


def _result(name: str | None, use: str | None, text: str, *, failed: bool) -> Iterator[IncomingMessage]:
    said = _ends(text)
    if not said or not use:
        return
    if failed:
        yield IncomingMessage(Role.TOOL, "", event=ToolEvent(MessageType.ERROR, name, use, error=said))
    else:
        yield IncomingMessage(Role.TOOL, "", event=ToolEvent(MessageType.TOOL_RESULT, name, use, output=said))


def _ends(text: str) -> str:
    """Return the beginning and the end of a long text."""
    half = KEPT_CHARACTERS // 2
    more = len(text) - 2 * half
    return f"{text[:half]}\n… {more:,} characters …\n{text[-half:]}" if more > 0 else text


def _short(value: Json) -> Json:
    """Return a value with the beginning and the end of each long text in it."""
    if isinstance(value, str):
        return _ends(value)
    if isinstance(value, list):
        return [_short(one) for one in value]
    return {key: _short(one) for key, one in value.items()} if isinstance(value, dict) else value
