"""The formats of conversations that are read, each in one entry: for messages, the command line, pages and the reader.

No reader is imported here, because the command line shows the names at once.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format of conversations.

    Attributes:
        title: Its name for people.
        reader: Module and function in ``inbox.imports`` that read it.
        form: ``items`` is JSON of which the function takes one object at a time. The others are read as a whole: other
            ``json``, plain ``text`` in any encoding, and any other ``file``.
        keys: Keys by which the first object of a file in JSON tells its format; one of these sets suffices.
        may_hold_keys: Whether keys and passwords are redacted, whatever the settings say.
    """

    title: str
    reader: str
    form: Literal["items", "json", "text", "file"] = "items"
    keys: tuple[AbstractSet[str], ...] = ()
    may_hold_keys: bool = False


EXPORT_FORMATS = {
    "chatgpt": ExportFormat("ChatGPT", "chatgpt.conversations", keys=({"mapping"},)),
    "claude": ExportFormat(
        "Claude",
        "claude.conversations",
        keys=({"chat_messages"}, {"conversations_memory"}, {"prompt_template", "docs"}),
    ),
    "locomo": ExportFormat("LoCoMo", "locomo.conversations", keys=({"sample_id"}, {"conversation"})),
    "telegram": ExportFormat(
        "Telegram", "telegram.conversations", keys=({"chats"}, {"left_chats"}, {"messages", "type", "id"})
    ),
    "deepseek": ExportFormat("DeepSeek", "deepseek.conversations", keys=({"mapping", "inserted_at"},)),
    "gemini": ExportFormat(
        "Gemini (Google Takeout)", "gemini.conversations", keys=({"header", "title", "time", "products"},)
    ),
    "openai": ExportFormat("messages in OpenAI's form", "message_lists.conversations", "json"),
    "librechat": ExportFormat("LibreChat", "librechat.conversations", keys=({"conversationId", "messages"},)),
    "discord": ExportFormat(
        "Discord (DiscordChatExporter)", "discord.conversations", "file", keys=({"guild", "channel", "messages"},)
    ),
    "google-chat": ExportFormat("Google Chat", "google_chat.conversations"),
    "messenger": ExportFormat(
        "Messenger and Instagram", "messenger.conversations", keys=({"participants", "messages"},)
    ),
    "mem0": ExportFormat("mem0", "kept_memories.of_mem0", keys=({"memory", "id"}, {"results"})),
    "supermemory": ExportFormat(
        "Supermemory", "kept_memories.of_supermemory", keys=({"containerTags"}, {"memories", "pagination"})
    ),
    "zep": ExportFormat(
        "Zep",
        "agent_files.of_zep",
        keys=({"fact", "source_node_uuid"}, {"edges"}, {"episodes"}, {"messages", "row_count"}),
    ),
    "langgraph": ExportFormat(
        "items of LangGraph's store", "kept_memories.of_langgraph", keys=({"namespace", "key", "value"},)
    ),
    "hindsight": ExportFormat(
        "Hindsight", "kept_memories.of_hindsight", keys=({"items", "total", "limit"}, {"text", "fact_type"})
    ),
    "letta": ExportFormat("agents of Letta (.af)", "agent_files.of_letta", keys=({"agents", "blocks"},)),
    "memgpt-af": ExportFormat(
        "earlier agents of Letta and MemGPT (.af)", "agent_files.of_letta", keys=({"core_memory", "agent_type"},)
    ),
    "mcp-memory": ExportFormat(
        "the memory server of MCP",
        "kept_memories.of_mcp_memory",
        "file",
        ({"name", "entityType", "observations"}, {"from", "to", "relationType"}),
    ),
    "qmsum": ExportFormat("QMSum", "qmsum.meetings", "json", keys=({"meeting_transcripts"},)),
    "claude-code": ExportFormat(
        "sessions of Claude Code",
        "coding_sessions.claude_code",
        "file",
        ({"sessionId", "uuid", "type"}, {"leafUuid", "summary"}, {"sessionId", "operation"}, {"messageId", "snapshot"}),
        may_hold_keys=True,
    ),
    "codex": ExportFormat(
        "sessions of Codex", "coding_sessions.codex", "file", ({"type", "payload"},), may_hold_keys=True
    ),
    "cursor": ExportFormat(
        "sessions of Cursor", "coding_sessions.cursor", "file", ({"role", "message"},), may_hold_keys=True
    ),
    "git": ExportFormat("the log of Git", "git_log.conversations", "file", may_hold_keys=True),
    "jsonl": ExportFormat("Neurigraph's JSON lines", "jsonl.of_file", "file"),
    "slack": ExportFormat("Slack", "slack.conversations", "json"),
    "whatsapp": ExportFormat("WhatsApp", "whatsapp.conversations", "text"),
    "mail": ExportFormat("e-mail (.eml, .mbox)", "mail.conversations", "file"),
    "subtitles": ExportFormat("WebVTT and SubRip", "subtitles.meetings", "text"),
    "text": ExportFormat("dialogues in plain text", "text.conversations", "text"),
}
"""Formats by the names that ``--format`` takes."""

NAMES = ", ".join(EXPORT_FORMATS)

READ = f"Conversations are read of {', '.join(one.title for one in EXPORT_FORMATS.values())}"
"""A sentence without its end, for refusals."""
